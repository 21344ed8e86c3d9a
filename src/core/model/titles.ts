import { hash } from 'node:crypto'
import type { TeamId } from './ids.ts'

// How titles, and what is typed to find them, become what is compared: folded text, words, index terms, sought words.

/** Titles are served whole and searched in their first characters. */
const maxSearchedCharacters = 2_000

const markedLetter = /([\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Hebrew}\p{sc=Arabic}])\p{M}+/gu
const katakana = /[\u30a1-\u30f6]/g
const hiraganaDistance = 0x60
/**
 * Invisible, or left out by readers: controls of direction and joining, variation selectors, keycaps, skin tones, the Arabic stretch,
 * the dot below of Indic letters. A zero-width space or non-joiner stands where others write a space.
 */
const dropped = /(?![\u200b\u200c])\p{Cf}|[\ufe00-\ufe0f\u20e3\u0640\u093c\u09bc\u0a3c\u0abc\u0b3c\u0cbc]|\p{EMod}/gu

/** What Unicode does not decompose, but readers type otherwise. */
const plainForms = new Map(
  [
    'ß:ss æ:ae œ:oe ø:o ł:l đ:d ð:d þ:th ħ:h ŋ:n ŧ:t ı:i ς:σ ґ:г ♯:#',
    'ך:כ ם:מ ן:נ ף:פ ץ:צ',
    'ٱ:ا ة:ه ە:ه ہ:ه ھ:ه ى:ي ی:ي ک:ك ڪ:ك',
    '\u0901:\u0902 \u0981:\u0982',
  ].flatMap((forms) => forms.split(' ').map((form) => form.split(':') as [string, string])),
)
const formed = new RegExp(`[${[...plainForms.keys()].join('')}]`, 'gu')
/** Apostrophes that Unicode counts as letters, and an accent that it takes apart into a space and a mark. */
const apostrophe = /[\u00b4\u0374\u1ffd\u02b9-\u02bd\u02c8\u02ee]/g

/**
 * Folds compatibility forms, case, marks where readers leave them out, katakana to hiragana, digits of all scripts to 0 to 9; keeps
 * punctuation. Idempotent. Cut once more at the end: one character may become eighteen, and Elasticsearch refuses a keyword of more
 * than 32,766 bytes.
 */
export const foldCharacters = (title: string): string =>
  title
    .slice(0, maxSearchedCharacters)
    .toWellFormed()
    .replace(apostrophe, "'")
    .normalize('NFKD')
    .toLowerCase()
    .normalize('NFKD')
    .replace(dropped, '')
    .replace(markedLetter, '$1')
    .replace(formed, (form) => plainForms.get(form) ?? form)
    .replace(/(?![0-9])\p{Nd}/gu, digitValue)
    .normalize('NFKC')
    .slice(0, maxSearchedCharacters)
    .toWellFormed()
    .replace(katakana, (letter) => String.fromCharCode(letter.charCodeAt(0) - hiraganaDistance))

/**
 * Stands before every searched term of a team, so that the cost of a wildcard and the expansions of a fuzzy word follow the team, not
 * the cluster. Two teams with one salt pay for both; each finds its own forms only.
 */
export const titleSalt = (teamId: TeamId): string => hash('sha256', teamId, 'base64url').slice(0, titleSaltLength)

export const titleSaltLength = 8

/** The digits of a script follow one another in Unicode, from its zero on. */
function digitValue(digit: string): string {
  const code = digit.codePointAt(0) ?? 0
  let value = 0
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value++
  return String(value)
}

const kinds = ['cjk', 'hangul', 'number', 'letters', 'emoji'] as const

/**
 * The smallest part of a title that is compared: letters, digits, or Hangul in a row; one character of a script that is written
 * without spaces and read character by character (`cjk`: Han and kana); one emoji.
 */
export type TitleWord = {
  readonly kind: (typeof kinds)[number]
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

/** A title as it is searched for pieces: its words between single spaces, characters that are read one by one without. */
export function foldTitle(title: string): string {
  let folded = ''
  let before: TitleWord | undefined
  for (const word of titleWords(title)) {
    const isReadOn = word.kind === 'cjk' && word.gap === 'none' && before?.kind === 'cjk'
    const longer = folded + (before === undefined || isReadOn ? '' : ' ') + word.text
    if (longer.length > maxSearchedCharacters) break
    folded = longer
    before = word
  }
  return folded
}

/** Whether a word and the one before it, when no space is between them, are also written as one: e-mail, don't, covid-19. */
const isJoinable = (before: TitleWord, after: TitleWord): boolean =>
  isSpelt(before) && isSpelt(after) && !(before.kind === 'number' && after.kind === 'number')

/** Whether words can be written as one, punctuation or nothing between them left out. */
export const areJoinable = (words: readonly TitleWord[]): boolean =>
  words.slice(1).every((word, at) => isJoinable(words[at] ?? word, word))

export const isSpelt = ({ kind }: TitleWord): boolean => kind !== 'cjk' && kind !== 'emoji'

/** Where a row of words falls into parts, told by each neighbouring pair. */
export function splitWhere<T>(items: readonly T[], isEnd: (before: T, after: T) => boolean): [T, ...T[]][] {
  const parts: [T, ...T[]][] = []
  for (const item of items) {
    const part = parts.at(-1)
    if (part === undefined || isEnd(part.at(-1) ?? part[0], item)) parts.push([item])
    else part.push(item)
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

const isAlphabetic = (text: string): boolean =>
  /^[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Armenian}\p{sc=Georgian}\p{sc=Hebrew}\p{sc=Arabic}]+$/u.test(text)

/** Longer words are compared in pieces: Elasticsearch's whitespace tokenizer cuts terms of more than 255 UTF-16 units. */
export const pieceLength = 50
/** What is written as one has at least as many letters: "goat" is not "go at". */
export const minJoinedLength = 5
const maxJoinedLength = 40
/** A half-typed word with a mistake has at least one letter more. */
export const minStartLength = 5

/** What a title can be found by, besides pieces of it; a few times as long as the title at most. */
export function titleTerms(title: string): Readonly<Record<'words' | 'joined' | 'starts', readonly string[]>> {
  const words = titleWords(title)
  const spelt = splitWhere(words, (before, after) => after.gap === 'space' || !isJoinable(before, after))
  return {
    /** Its words; those that punctuation joins also as one, from each of them on; of Han and kana every pair of neighbours. */
    words: unique([
      ...words.filter(({ kind }) => kind !== 'cjk').flatMap(({ text }) => overlappingPieces(text)),
      ...spelt.filter(({ length }) => length > 1).flatMap((run) => overlappingPieces(textOf(run))),
      ...spelt.flatMap((run) => run.slice(1, -1).map((_, at) => cut(textOf(run.slice(at + 1)), maxJoinedLength))),
      ...neighbours(words),
      ...kanaParts(words)
        .filter(([first]) => isKana(first))
        .flatMap((run) => overlappingPieces(textOf(run))),
    ]),
    /** Two and three neighbouring words as if no space were between them; of Hangul every pair of neighbours. */
    joined: unique([...joinedWords(spelt), ...words.flatMap(hangulPairs)]),
    /** The beginnings of long words, for those who misspell half of one. */
    starts: unique(words.flatMap(startsOf)),
  }
}

/** Every character that is read alone with the one behind it; also with a word before or behind it, whatever is between. */
const neighbours = (words: readonly TitleWord[]): string[] =>
  words.flatMap((word, at) => {
    const next = words[at + 1]
    if (next?.kind === 'cjk' && isSpelt(word)) return [pair(word, next)]
    if (word.kind !== 'cjk') return []
    if (next?.kind === 'cjk' && next.gap === 'none') return [pair(word, next)]
    return [word.text, ...(next !== undefined && isSpelt(next) ? [pair(word, next)] : [])]
  })

/** The term of two neighbours of which at least one is read character by character. */
export const pair = (before: TitleWord, after: TitleWord): string =>
  cut(before.text, pieceLength) + cut(after.text, pieceLength)

function joinedWords(runs: readonly (readonly TitleWord[])[]): string[] {
  const joinable = splitWhere(runs, (before, after) => !areJoinable([...before, ...after]))
  const parts = joinable.flatMap((row) => row.flatMap((_, at) => [row.slice(at, at + 2), row.slice(at, at + 3)]))
  return parts
    .filter(({ length }) => length > 1)
    .map((part) => textOf(part.flat()))
    .filter((text) => lengthOf(text) >= minJoinedLength && lengthOf(text) <= maxJoinedLength)
}

export const hangulPairs = ({ kind, text }: TitleWord): string[] => {
  const syllables = kind === 'hangul' ? [...text] : []
  return syllables.slice(0, -1).map((syllable, at) => syllable + syllables[at + 1])
}

const startLengths = [5, 6, 7, 8, 9, 10, 11, 12]
const startsOf = ({ text }: TitleWord): string[] =>
  isAlphabetic(text) ? startLengths.filter((length) => length < lengthOf(text)).map((length) => cut(text, length)) : []

/** Pieces that overlap by half, so that whatever is not longer than half a piece stands whole in one of them. */
const overlappingPieces = (text: string): string[] => piecesOf(text, pieceLength, 2)

/** Pieces that begin every so many letters, and are `lengths` times as long. */
export function piecesOf(text: string, length: number, lengths = 1): string[] {
  const letters = [...text]
  const count = Math.max(1, Math.ceil(letters.length / length) - lengths + 1)
  return Array.from({ length: count }, (_, at) => letters.slice(at * length, (at + lengths) * length).join(''))
}

const cut = (text: string, length: number): string => [...text].slice(0, length).join('')

const unique = (terms: readonly string[]): string[] => [...new Set(terms)]

/**
 * What was typed without a space in it: a word; several that punctuation or a change from letters to digits holds together; characters
 * that are read one by one, with what stands next to them; an emoji.
 */
export type SoughtWord = readonly [TitleWord, ...TitleWord[]]

/** English words that a title may lack when another word is found. */
const optionalWords =
  /^(?:a|an|and|are|as|at|be|by|for|from|in|into|is|it|its|of|on|or|that|the|their|these|this|those|to|was|were|with)$/

/** Everything that was typed, each once. Empty when there is no word in it: punctuation alone. */
export function soughtWords(typed: string): SoughtWord[] {
  const groups = splitWhere(titleWords(typed), isApart)
  return [...new Map(groups.map((group) => [textOf(group), group])).values()]
}

/** Without those that may be missing: the last one is never, it may be the beginning of a longer word. */
export function requiredWords(sought: readonly SoughtWord[]): readonly SoughtWord[] {
  const isOptional = (word: SoughtWord): boolean => word.length === 1 && optionalWords.test(word[0].text)
  return sought.every(isOptional) ? sought : sought.filter((word, at) => at === sought.length - 1 || !isOptional(word))
}

/** A word long enough to be told from others where it stands inside another. */
export const mayStandInside = ({ kind, text, isMarked }: TitleWord): boolean =>
  !isMarked && ((kind === 'letters' && lengthOf(text) >= 3) || (kind === 'hangul' && lengthOf(text) >= 2))

/** Shorter words are spelt right, and the others as one word where they were typed as one. */
export const minWordLength = 4
const longWordLength = 8

/** How many letters of a word may be wrong, missing, too many, or swapped with their neighbour. Digits, `+` and `#` are right. */
export function allowedMistakes(text: string): 0 | 1 | 2 {
  const length = lengthOf(text)
  if (length < minWordLength || length > pieceLength || /[\p{N}+#]/u.test(text)) return 0
  // In scripts with vowel signs a letter more or less is soon another word.
  if (isAlphabetic(text) || isKana({ text })) return length < longWordLength ? 1 : 2
  return /^\p{sc=Hangul}+$/u.test(text) || length >= longWordLength ? 1 : 0
}

const isApart = (before: TitleWord, after: TitleWord): boolean =>
  after.gap === 'space' ||
  before.kind === 'emoji' ||
  after.kind === 'emoji' ||
  (after.gap === 'mark' && !(isSpelt(before) && isSpelt(after)))
