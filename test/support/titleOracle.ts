import { foldedWords, foldTitle } from '../../src/domain/title.ts'

/**
 * The forms whose titles match what was typed: those that hold it, or of which every typed word begins a word; only when there
 * are none, those with words that are a little misspelt.
 */
export function matchingTitles<Form>(forms: readonly Form[], titleOf: (form: Form) => string, typed: string): Form[] {
  if (typed === '') return [...forms]
  const exact = forms.filter((form) => holds(titleOf(form), typed))
  return exact.length > 0 ? exact : forms.filter((form) => resembles(titleOf(form), typed))
}

function holds(title: string, typed: string): boolean {
  const folded = foldTitle(typed)
  if (folded === '') return title.toLowerCase().includes(typed.toLowerCase())
  if (foldTitle(title).includes(folded)) return true
  const words = wordsOf(title)
  return wordsOf(typed).every((word) => words.some((other) => other.startsWith(word)))
}

function resembles(title: string, typed: string): boolean {
  const words = wordsOf(title)
  const sought = wordsOf(typed)
  return sought.length > 0 && sought.every((word) => words.some((other) => isMisspelt(other, word)))
}

/** Numbers and short words must be right, and of words below six letters the first one. */
function isMisspelt(word: string, typed: string): boolean {
  const letters = [...typed]
  if (letters.length < 4 || /\p{N}/u.test(typed)) return word === typed
  if (letters.length < 6 && [...word][0] !== letters[0]) return false
  return mistakes(letters, [...word]) <= (letters.length < 8 ? 1 : 2)
}

/** The letters to add, leave out, replace or swap with their neighbour to make one word the other. */
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

const wordsOf = (text: string): string[] => foldedWords(foldTitle(text))
