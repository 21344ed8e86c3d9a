import { pieceLength } from './indexTerms.ts'
import { isAlphabetic, isKana, isSpelt, lengthOf, splitWhere, type TitleWord, textOf, titleWords } from './tokenize.ts'

/**
 * Something that was typed without a space in it, and has to be in a title: a word; several that punctuation or a change from
 * letters to digits holds together; characters that are read one by one, with what stands next to them; an emoji.
 */
export type SoughtWord = readonly [TitleWord, ...TitleWord[]]

/** English words that a title may lack when another word is found. */
const optionalWords = new Set(
  'a an and are as at be by for from in into is it its of on or that the their these this those to was were with'.split(
    ' ',
  ),
)

/** Everything that was typed, each once. Empty when there is no word in it: punctuation alone. */
export function soughtWords(typed: string): SoughtWord[] {
  const groups = splitWhere(titleWords(typed), isApart)
  return [...new Map(groups.map((group) => [textOf(group), group])).values()]
}

/** Without those that may be missing: the last one is never, it may be the beginning of a longer word. */
export function requiredWords(sought: readonly SoughtWord[]): readonly SoughtWord[] {
  const isOptional = (word: SoughtWord): boolean => word.length === 1 && optionalWords.has(word[0].text)
  return sought.every(isOptional) ? sought : sought.filter((word, at) => at === sought.length - 1 || !isOptional(word))
}

/** A word long enough to be told from others where it stands inside another. */
export const mayStandInside = ({ kind, text, isMarked }: TitleWord): boolean =>
  !isMarked && ((kind === 'letters' && lengthOf(text) >= 3) || (kind === 'hangul' && lengthOf(text) >= 2))

/** Shorter words are spelt right, and the others as one word where they were typed as one. */
export const minWordLength = 4
const longWordLength = 8
const hangul = /^\p{sc=Hangul}+$/u

/** How many letters of a word may be wrong, missing, too many, or swapped with their neighbour. Digits, `+` and `#` are right. */
export function allowedMistakes(text: string): 0 | 1 | 2 {
  const length = lengthOf(text)
  if (length < minWordLength || length > pieceLength || /[\p{N}+#]/u.test(text)) return 0
  // In scripts with vowel signs a letter more or less is soon another word.
  if (isAlphabetic(text) || isKana({ text })) return length < longWordLength ? 1 : 2
  return hangul.test(text) || length >= longWordLength ? 1 : 0
}

const isApart = (before: TitleWord, after: TitleWord): boolean =>
  after.gap === 'space' ||
  before.kind === 'emoji' ||
  after.kind === 'emoji' ||
  (after.gap === 'mark' && !(isSpelt(before) && isSpelt(after)))
