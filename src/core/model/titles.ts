import { hash } from 'node:crypto'
import { foldCharacters, maxSearchedCharacters } from './foldCharacters.ts'
import type { TeamId } from './ids.ts'

/*
 * Splits titles and search texts into words, and makes the terms by which a title is found: with typos, half-typed, or with words joined and split otherwise.
 */

/** Begins every indexed term of a team, so that wildcard and fuzzy queries skip most terms of other teams. */
export const titleSalt = (teamId: TeamId): string => hash('sha256', teamId, 'base64url').slice(0, titleSaltLength)

export const titleSaltLength = 8

const kinds = ['cjk', 'hangul', 'number', 'letters', 'emoji'] as const

/** A run of letters, digits or Hangul; a single character of a script without spaces (`cjk`: Han, kana, bopomofo); an emoji. */
export type TitleWord = {
  readonly kind: (typeof kinds)[number]
  readonly text: string
  /** Between the previous word and this one: nothing, punctuation, or text with a space. */
  readonly gap: 'none' | 'mark' | 'space'
  /** Right after punctuation: .net, (emea). */
  readonly isMarked: boolean
  /** Continues the number before: the 000 of 10,000 and 10 000. */
  readonly isDigitGroup: boolean
}

const cjk = '[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Bopomofo}ー]'
/** A trailing `+` or `#` is part of a word: C++, C#. */
const symbols = '(?:[+#]+(?![\\p{L}\\p{N}]))?'
const wordPattern = new RegExp(
  [
    `(?<cjk>${cjk}\\p{M}*)`,
    `(?<hangul>\\p{sc=Hangul}+${symbols})`,
    `(?<number>(?:(?!${cjk})\\p{N}\\p{M}*)+${symbols})`,
    `(?<letters>(?:(?!${cjk}|\\p{sc=Hangul})\\p{L}\\p{M}*)+${symbols})`,
    '(?<emoji>\\p{RI}\\p{RI}|\\p{ExtPict})',
  ].join('|'),
  'gu',
)

export function titleWords(title: string): TitleWord[] {
  const folded = foldCharacters(title)
  let previousEnd = 0
  let previousText = ''
  return [...folded.matchAll(wordPattern)].map(({ 0: text, index, groups = {} }) => {
    const between = folded.slice(previousEnd, index)
    const isDigitGroup = isGroupAfter(previousText, between, text)
    previousEnd = index + text.length
    previousText = text
    const kind = kinds.find((name) => groups[name] !== undefined) ?? 'letters'
    const gap = between === '' ? 'none' : /\s/.test(between) ? 'space' : 'mark'
    return { kind, text, gap, isMarked: /[^\s\p{M}]$/u.test(between), isDigitGroup }
  })
}

/** 10,000 or, as India writes it, 1,00,000. */
function isGroupAfter(before: string, between: string, text: string): boolean {
  if (!/^\d{1,3}$/.test(before) || !/^[,.'’٬ ]$/.test(between)) return false
  return /^\d{3}[+#]*$/.test(text) || (between === ',' && /^\d{2}$/.test(text))
}

/** 10,000 becomes one word, 10000. */
const withGroupsJoined = (words: readonly TitleWord[]): TitleWord[] =>
  splitWhere(words, (_, after) => !after.isDigitGroup).flatMap((run) => {
    // A number that ends with a group of two digits is a decimal fraction or a list: 1,25.
    const isNumber = run.length > 1 && /^\d{3}/.test(run.at(-1)?.text ?? '')
    return isNumber ? [{ ...run[0], text: textOf(run) }] : run
  })

/** For substring search: one space between words, none between adjacent CJK characters. */
export function foldTitle(title: string): string {
  let folded = ''
  let before: TitleWord | undefined
  for (const word of titleWords(title)) {
    const isAdjacentCjk = word.kind === 'cjk' && word.gap === 'none' && before?.kind === 'cjk'
    const separator = before === undefined || isAdjacentCjk ? '' : ' '
    const longer = folded + separator + word.text
    if (longer.length > maxSearchedCharacters) break
    folded = longer
    before = word
  }
  return folded
}

/** Without a space between them, they may be one word: e-mail, covid-19. */
const isJoinable = (before: TitleWord, after: TitleWord): boolean =>
  isSpelt(before) && isSpelt(after) && !(before.kind === 'number' && after.kind === 'number')

export const areJoinable = (words: readonly TitleWord[]): boolean =>
  words.slice(1).every((word, at) => isJoinable(words[at] ?? word, word))

/** Letters, digits or Hangul: may be joined to others, or misspelt. */
export const isSpelt = ({ kind }: TitleWord): boolean => kind !== 'cjk' && kind !== 'emoji'

/** Splits a list wherever `isEnd` is true of two neighbours. */
export function splitWhere<T>(items: readonly T[], isEnd: (before: T, after: T) => boolean): [T, ...T[]][] {
  const parts: [T, ...T[]][] = []
  for (const item of items) {
    const part = parts.at(-1)
    if (part === undefined || isEnd(part.at(-1) ?? part[0], item)) parts.push([item])
    else part.push(item)
  }
  return parts
}

/** Splits words into runs of kana, which may be misspelt like a word, and others. */
export const kanaParts = (words: readonly TitleWord[]): [TitleWord, ...TitleWord[]][] =>
  splitWhere(words, (before, after) => after.gap !== 'none' || isKana(before) !== isKana(after))

export const isKana = ({ text }: Pick<TitleWord, 'text'>): boolean =>
  /^(?:[\p{sc=Hiragana}\p{sc=Katakana}ー]\p{M}*)+$/u.test(text)

export const textOf = (words: readonly TitleWord[]): string => words.map(({ text }) => text).join('')

/** Code points are the unit of edit distance in Elasticsearch. */
export const lengthOf = (text: string): number => [...text].length

const isAlphabetic = (text: string): boolean =>
  /^[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Armenian}\p{sc=Georgian}\p{sc=Hebrew}\p{sc=Arabic}]+$/u.test(text)

/** Longer words are indexed in pieces: the whitespace tokenizer splits terms above 255 UTF-16 units. */
export const pieceLength = 50
/** "goat" does not find "go at". */
export const minJoinedLength = 5
const maxJoinedLength = 40
/** Of indexed beginnings of words. Only a longer text is searched as a half-typed word with a typo. */
export const minStartLength = 5

/**
 * - `words`: words; words joined by punctuation, as one word that begins at each of them; pairs of adjacent CJK characters; runs of kana
 * - `joined`: two and three adjacent words without their spaces; pairs of adjacent Hangul syllables
 */
type Terms = Readonly<Record<'words' | 'joined' | 'starts', readonly string[]>>

/** Grouped digits have the terms of both readings: 10,000 and 10000. */
export function titleTerms(title: string): Terms {
  const terms = readings(titleWords(title)).map(termsOf)
  return {
    words: unique(terms.flatMap(({ words }) => words)),
    joined: unique(terms.flatMap(({ joined }) => joined)),
    starts: unique(terms.flatMap(({ starts }) => starts)),
  }
}

function readings(words: readonly TitleWord[]): (readonly TitleWord[])[] {
  const joined = withGroupsJoined(words)
  return joined.length === words.length ? [words] : [words, joined]
}

function termsOf(words: readonly TitleWord[]): Terms {
  // `state-of-the-art` is one run of four words.
  const runs = splitWhere(words, (before, after) => after.gap === 'space' || !isJoinable(before, after))
  return {
    words: unique([
      ...words.filter(({ kind }) => kind !== 'cjk').flatMap(({ text }) => overlappingPieces(text)),
      // stateoftheart
      ...runs.filter(({ length }) => length > 1).flatMap((run) => overlappingPieces(textOf(run))),
      // oftheart, theart
      ...runs.flatMap((run) => run.slice(1, -1).map((_, at) => cut(textOf(run.slice(at + 1)), maxJoinedLength))),
      ...cjkTerms(words),
      ...kanaParts(words)
        .filter(([first]) => isKana(first))
        .flatMap((run) => overlappingPieces(textOf(run))),
    ]),
    joined: unique([...joinedWords(runs), ...words.flatMap(hangulPairs)]),
    starts: unique(words.flatMap(startsOf)),
  }
}

/** Pairs of adjacent CJK characters; the last of these alone; pairs of a CJK character and the word before or after it, whatever stands between. */
const cjkTerms = (words: readonly TitleWord[]): string[] =>
  words.flatMap((word, at) => {
    const next = words[at + 1]
    if (next?.kind === 'cjk' && isSpelt(word)) return [pair(word, next)]
    if (word.kind !== 'cjk') return []
    if (next?.kind === 'cjk' && next.gap === 'none') return [pair(word, next)]
    return [word.text, ...(next !== undefined && isSpelt(next) ? [pair(word, next)] : [])]
  })

/** The term of two words, one of them CJK. */
export const pair = (before: TitleWord, after: TitleWord): string =>
  cut(before.text, pieceLength) + cut(after.text, pieceLength)

/** Two and three adjacent runs as one word: `data base` has the term `database`. */
function joinedWords(runs: readonly (readonly TitleWord[])[]): string[] {
  const rowsOfRuns = splitWhere(runs, (before, after) => !areJoinable([...before, ...after]))
  const neighbours = rowsOfRuns.flatMap((row) => row.flatMap((_, at) => [row.slice(at, at + 2), row.slice(at, at + 3)]))
  return neighbours
    .filter(({ length }) => length > 1)
    .map((joined) => textOf(joined.flat()))
    .filter((text) => lengthOf(text) >= minJoinedLength && lengthOf(text) <= maxJoinedLength)
}

/** 데이터 has the pairs 데이 and 이터. */
export const hangulPairs = ({ kind, text }: TitleWord): string[] => {
  const syllables = kind === 'hangul' ? [...text] : []
  return syllables.slice(0, -1).map((syllable, at) => syllable + syllables[at + 1])
}

const startLengths = [5, 6, 7, 8, 9, 10, 11, 12]
const startsOf = ({ text }: TitleWord): string[] =>
  isAlphabetic(text) ? startLengths.filter((length) => length < lengthOf(text)).map((length) => cut(text, length)) : []

/** Overlapping by half: any text of up to half a piece lies within one. */
const overlappingPieces = (text: string): string[] => piecesOf(text, pieceLength, 2)

/** A piece begins every `step` letters, and has `stepsPerPiece * step` letters. */
export function piecesOf(text: string, step: number, stepsPerPiece = 1): string[] {
  const letters = [...text]
  const count = Math.max(1, Math.ceil(letters.length / step) - stepsPerPiece + 1)
  return Array.from({ length: count }, (_, at) => letters.slice(at * step, (at + stepsPerPiece) * step).join(''))
}

const cut = (text: string, length: number): string => [...text].slice(0, length).join('')

const unique = (terms: readonly string[]): string[] => [...new Set(terms)]

/** Without spaces: a word; words joined by punctuation or a change to digits; CJK characters with adjacent words; an emoji. */
export type SoughtPart = readonly [TitleWord, ...TitleWord[]]

/** English stop words, which a title may lack. */
const optionalWords =
  /^(?:a|an|and|are|as|at|be|by|for|from|in|into|is|it|its|of|on|or|that|the|their|these|this|those|to|was|were|with)$/

/** By reading. Punctuation alone has no parts. */
export const soughtReadings = (typed: string): SoughtPart[][] =>
  readings(titleWords(typed)).map((words) => {
    const parts = splitWhere(words, areSeparateParts)
    return [...new Map(parts.map((part) => [textOf(part), part])).values()]
  })

/** All parts but stop words. The last is required, too: it may be a half-typed longer word. */
export function requiredParts(parts: readonly SoughtPart[]): readonly SoughtPart[] {
  const isOptional = (part: SoughtPart): boolean => part.length === 1 && optionalWords.test(part[0].text)
  return parts.every(isOptional) ? parts : parts.filter((part, at) => at === parts.length - 1 || !isOptional(part))
}

/** Whether a word is also searched for inside other words. */
export const mayStandInside = ({ kind, text, isMarked }: TitleWord): boolean =>
  !isMarked && ((kind === 'letters' && lengthOf(text) >= 3) || (kind === 'hangul' && lengthOf(text) >= 2))

/** In a shorter word no letter may be misspelt. A shorter text that was joined across punctuation matches only whole words. */
export const minWordLength = 4
const longWordLength = 8

/** Letters that may be wrong, missing, added or transposed. */
export function allowedMistakes(text: string): 0 | 1 | 2 {
  const length = lengthOf(text)
  if (length < minWordLength || length > pieceLength || /[\p{N}+#]/u.test(text)) return 0
  // Other scripts have vowel signs: an added or missing letter often makes another word.
  if (isAlphabetic(text) || isKana({ text })) return length < longWordLength ? 1 : 2
  return /^\p{sc=Hangul}+$/u.test(text) || length >= longWordLength ? 1 : 0
}

const areSeparateParts = (before: TitleWord, after: TitleWord): boolean =>
  after.gap === 'space' ||
  before.kind === 'emoji' ||
  after.kind === 'emoji' ||
  (after.gap === 'mark' && !(isSpelt(before) && isSpelt(after)))
