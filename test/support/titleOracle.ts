import { foldCharacters } from '../../src/core/model/foldCharacters.ts'
import {
  allowedMistakes,
  areJoinable,
  foldTitle,
  hangulPairs,
  isKana,
  isSpelt,
  requiredParts,
  type SoughtPart,
  soughtReadings,
  splitWhere,
  type TitleWord,
  textOf,
  titleTerms,
} from '../../src/core/model/titles.ts'

/**
 * The forms whose titles match a search text: those that contain it, with its punctuation, or its words; if none, those with one typo per
 * word; if none, those with two. Compares titles one by one by simple rules; only tokenizing is shared with the product.
 */
export function matchingTitles<Form>(forms: readonly Form[], titleOf: (form: Form) => string, typed: string): Form[] {
  const sought = typed.trim()
  if (sought === '') return [...forms]
  const matching = (matches: (title: string) => boolean): Form[] => forms.filter((form) => matches(titleOf(form)))
  const exact = matching((title) => holds(title, sought))
  if (exact.length > 0) return exact
  const similar = matching((title) => resembles(title, sought, 1))
  return similar.length > 0 ? similar : matching((title) => resembles(title, sought, 2))
}

/** Whether a word is among the first eight, which may match inside words and be misspelt. */
const isFree = (words: readonly SoughtPart[], at: number): boolean =>
  words
    .slice(0, at + 1)
    .map((word) => (word.every(isSpelt) ? word.length : partsOf(word).length))
    .reduce((sum, count) => sum + count) <= 8

function holds(title: string, typed: string): boolean {
  const readings = soughtReadings(typed)
  const [sought = []] = readings
  const [first] = sought
  const piece = foldCharacters(typed)
  if ((first === undefined || isPunctuated(sought, piece)) && foldCharacters(title).includes(piece)) return true
  if (first === undefined) return false
  const read = readTitle(title)
  if (readings.some((words) => holdsWords(read, words))) return true
  const isPiece = sought.length > 1 && isSingle(first) && !first[0].isMarked && !isLong(first[0])
  return isPiece && read.folded.includes(foldTitle(typed))
}

function holdsWords(read: Read, sought: readonly SoughtPart[]): boolean {
  const [first, ...others] = sought
  if (first !== undefined && others.length === 0 && isSingle(first) && !first[0].isMarked)
    return read.isWithin(textOf(first))
  return requiredParts(sought).every((word, at, all) => hasWord(read, word, isFree(all, at), at === 0))
}

/** Whether the text, with its punctuation, is also searched as a substring. */
const isPunctuated = (sought: readonly SoughtPart[], piece: string): boolean =>
  /[+#]$/.test(piece) || sought.some(([, ...joined]) => joined.some(({ gap }) => gap === 'mark'))

function resembles(title: string, typed: string, mostMistakes: number): boolean {
  const read = readTitle(title, mostMistakes)
  return soughtReadings(typed)
    .map(requiredParts)
    .some((required) => {
      const isMet = (word: SoughtPart, at: number): boolean => {
        const isFreeHere = isFree(required, at)
        return hasWord(read, word, isFreeHere, at === 0) || (isFreeHere && hasSimilar(read, word))
      }
      return required.length > 0 && required.every(isMet)
    })
}

type Read = ReturnType<typeof readTitle>

function readTitle(title: string, mostMistakes = 0) {
  const { words, joined, starts } = titleTerms(title)
  return {
    ...{ mostMistakes, folded: ` ${foldTitle(title)}`, words, joined, starts },
    isWithin: (text: string): boolean => words.some((word) => word.includes(text)),
    isBegun: (text: string): boolean => words.some((word) => word.startsWith(text)),
  }
}

function hasWord(read: Read, word: SoughtPart, isFree: boolean, isFirst: boolean): boolean {
  if (!word.every(isSpelt)) return isCovered(read, word, isFirst)
  if (!isFree) return word.every(({ text }) => read.isBegun(text))
  if (isSingle(word)) return hasPlain(read, word[0])
  if (read.folded.includes(` ${word.map(({ text }) => text).join(' ')}`)) return true
  const text = textOf(word)
  if (!areJoinable(word)) return false
  if (word.every(({ isMarked }) => !isMarked)) return read.isWithin(text)
  return [...text].length < 4 ? read.words.includes(text) : read.isBegun(text)
}

const hasPlain = (read: Read, word: TitleWord): boolean => (isLong(word) ? read.isWithin : read.isBegun)(word.text)

function isCovered(read: Read, [first, ...others]: SoughtPart, isFirst = false): boolean {
  if (others.length === 0) return first.kind === 'emoji' ? read.words.includes(first.text) : read.isBegun(first.text)
  const all = [first, ...others]
  const isPair = (before: TitleWord | undefined, after: TitleWord | undefined): boolean => {
    if (before === undefined || after === undefined) return false
    const text = before.text + after.text
    if (isFirst && before === first && isSpelt(before) && !before.isMarked) return read.isWithin(text)
    return isSpelt(after) ? read.isBegun(text) : read.words.includes(text)
  }
  return all.every(
    (word, at) =>
      isPair(all[at - 1], word) ||
      isPair(word, all[at + 1]) ||
      (isSpelt(word) && [...word.text].length >= 3 && read.isBegun(word.text)),
  )
}

function hasSimilar(read: Read, word: SoughtPart): boolean {
  if (!word.every(isSpelt)) return hasSimilarKana(read, word)
  if (isSingle(word)) return isSimilarPlain(read, word[0])
  // Short parts must not match separately: a/b does not find every title with an a and a b.
  const isEach = word.some(isForgiven) && word.every((part) => hasPlain(read, part) || isSimilarPlain(read, part))
  return isEach || (areJoinable(word) && isSimilar(read, textOf(word)))
}

function hasSimilarKana(read: Read, word: SoughtPart): boolean {
  const parts = partsOf(word)
  const canBeMisspelt = parts.some((part) => part.every(isKana) && isForgiven({ kind: 'cjk', text: textOf(part) }))
  const isMet = (part: SoughtPart): boolean =>
    (isSingle(part) && isSpelt(part[0]) ? hasPlain(read, part[0]) : isCovered(read, part)) ||
    (part.every(isKana) && isSimilar(read, textOf(part)))
  return canBeMisspelt && parts.every(isMet)
}

const partsOf = (word: SoughtPart): SoughtPart[] =>
  splitWhere(word, (before, after) => after.gap !== 'none' || isKana(before) !== isKana(after))

function isSimilarPlain(read: Read, word: TitleWord): boolean {
  const pairs = hangulPairs(word)
  const isHeld = (pair: string | undefined): boolean => pair !== undefined && read.joined.includes(pair)
  const isSpaced = pairs.length > 1 && [...word.text].every((_, at) => isHeld(pairs[at - 1]) || isHeld(pairs[at]))
  return isSpaced || isSimilar(read, word.text)
}

const isForgiven = ({ kind, text }: Pick<TitleWord, 'kind' | 'text'>): boolean =>
  allowedMistakes(text) > 0 || [...text].length >= (kind === 'hangul' ? 3 : 5)

function isSimilar(read: Read, text: string): boolean {
  const length = [...text].length
  if (length >= 5 && read.joined.includes(text)) return true
  const allowed = Math.min(allowedMistakes(text), read.mostMistakes)
  if (allowed === 0) return false
  return (
    read.words.some((word) => isMisspelt(word, text, allowed)) ||
    (length >= 6 && read.starts.some((start) => isMisspelt(start, text, 1)))
  )
}

/** In words below six letters, the first letter must be right. */
function isMisspelt(word: string, typed: string, allowed: number): boolean {
  const letters = [...typed]
  if (letters.length < 6 && [...word][0] !== letters[0]) return false
  return mistakes(letters, [...word]) <= allowed
}

/** The edit distance (insertions, deletions, replacements, transpositions) of two words. */
function mistakes(a: readonly string[], b: readonly string[]): number {
  const table = [...Array(a.length + 1).keys()].map((row) => [...Array(b.length + 1).keys()].map((at) => row + at))
  const cell = (row: number, at: number): number => table[row]?.[at] ?? Number.POSITIVE_INFINITY
  for (let row = 1; row <= a.length; row++)
    for (let at = 1; at <= b.length; at++) {
      const replaced = cell(row - 1, at - 1) + (a[row - 1] === b[at - 1] ? 0 : 1)
      const isSwapped = row > 1 && at > 1 && a[row - 1] === b[at - 2] && a[row - 2] === b[at - 1]
      const swapped = isSwapped ? cell(row - 2, at - 2) + 1 : Number.POSITIVE_INFINITY
      const line = table[row]
      if (line) line[at] = Math.min(replaced, swapped, cell(row - 1, at) + 1, cell(row, at - 1) + 1)
    }
  return cell(a.length, b.length)
}

const isSingle = (word: SoughtPart): boolean => word.length === 1 && isSpelt(word[0])
const isLong = ({ kind, text, isMarked }: TitleWord): boolean =>
  !isMarked && ((kind === 'letters' && [...text].length >= 3) || (kind === 'hangul' && [...text].length >= 2))
