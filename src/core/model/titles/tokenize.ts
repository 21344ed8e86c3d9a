import { foldCharacters, maxSearchedCharacters } from './normalize.ts'

/**
 * The smallest part of a title that is compared: letters, digits, or Hangul in a row; one character of a script that is written
 * without spaces and read character by character (`cjk`: Han and kana); one emoji.
 */
export type TitleWord = {
  readonly kind: 'letters' | 'number' | 'hangul' | 'cjk' | 'emoji'
  readonly text: string
  /** What stands before it: nothing, punctuation, or a space among whatever else. */
  readonly gap: 'none' | 'mark' | 'space'
  /** Punctuation right before it shows where it begins: .net, (emea). */
  readonly isMarked: boolean
}

const cjk = '[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Bopomofo}ー]'
/** `+` and `#` behind a word belong to it: C++, C#, A+, 18+. */
const symbols = '(?:[+#]+(?![\\p{L}\\p{N}]))?'
const word = new RegExp(
  [
    `(?<cjk>${cjk}\\p{M}*)`,
    `(?<hangul>\\p{sc=Hangul}+${symbols})`,
    `(?<number>(?:(?!${cjk})\\p{N}\\p{M}*)+${symbols})`,
    `(?<letters>(?:(?!${cjk}|\\p{sc=Hangul})\\p{L}\\p{M}*)+${symbols})`,
    '(?<emoji>\\p{RI}\\p{RI}|\\p{ExtPict})',
  ].join('|'),
  'gu',
)

/** The words of a title, or of what was typed to find one: both are taken apart alike. */
export function titleWords(title: string): TitleWord[] {
  const folded = foldCharacters(title)
  let end = 0
  return [...folded.matchAll(word)].map(({ 0: text, index, groups = {} }) => {
    const between = folded.slice(end, index)
    end = index + text.length
    const kind = kinds.find((each) => groups[each] !== undefined) ?? 'letters'
    const gap = between === '' ? 'none' : /\s/.test(between) ? 'space' : 'mark'
    return { kind, text, gap, isMarked: /[^\s\p{M}]$/u.test(between) }
  })
}

const kinds = ['cjk', 'hangul', 'number', 'letters', 'emoji'] as const

/** A title as it is searched for pieces: its words between single spaces, characters that are read one by one without. */
export function foldTitle(title: string): string {
  let folded = ''
  let before: TitleWord | undefined
  for (const word of titleWords(title)) {
    const isReadOn = word.kind === 'cjk' && word.gap === 'none' && before?.kind === 'cjk'
    const longer = before === undefined || isReadOn ? folded + word.text : `${folded} ${word.text}`
    if (longer.length > maxSearchedCharacters) break
    folded = longer
    before = word
  }
  return folded
}

/** Whether a word and the one before it, when no space is between them, are also written as one: e-mail, don't, covid-19. */
export const isJoinable = (before: TitleWord, after: TitleWord): boolean =>
  isSpelt(before) && isSpelt(after) && !(before.kind === 'number' && after.kind === 'number')

/** Whether words can be written as one, punctuation or nothing between them left out. */
export const areJoinable = (words: readonly TitleWord[]): boolean =>
  words.slice(1).every((word, at) => isJoinable(words[at] ?? word, word))

export const isSpelt = ({ kind }: TitleWord): boolean => kind !== 'cjk' && kind !== 'emoji'

/** Where a row of words falls into parts, told by each neighbouring pair. */
export function splitWhere<T>(items: readonly T[], isEnd: (before: T, after: T) => boolean): [T, ...T[]][] {
  const parts: [T, ...T[]][] = []
  let before: T | undefined
  for (const item of items) {
    if (before === undefined || isEnd(before, item)) parts.push([item])
    else parts.at(-1)?.push(item)
    before = item
  }
  return parts
}

/** Kana in a row spell a word, which can be misspelt; whatever is between such words is a part of its own. */
export const kanaParts = (words: readonly TitleWord[]): [TitleWord, ...TitleWord[]][] =>
  splitWhere(words, (before, after) => after.gap !== 'none' || isKana(before) !== isKana(after))

export const isKana = ({ text }: Pick<TitleWord, 'text'>): boolean =>
  /^(?:[\p{sc=Hiragana}\p{sc=Katakana}ー]\p{M}*)+$/u.test(text)

export const textOf = (words: readonly TitleWord[]): string => words.map(({ text }) => text).join('')

/** In code points, as Elasticsearch counts mistakes. */
export const lengthOf = (text: string): number => [...text].length

export const isAlphabetic = (text: string): boolean =>
  /^[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Armenian}\p{sc=Georgian}\p{sc=Hebrew}\p{sc=Arabic}]+$/u.test(text)
