import type { Random } from './random.ts'

/** What it is to be a piece of a title, by a plain comparison that knows nothing of how titles are indexed. */

const characters = new Intl.Segmenter('en', { granularity: 'grapheme' })
const charactersOf = (text: string): string[] => [...characters.segment(text)].map(({ segment }) => segment)

/** One character, letter case, marks on Latin letters, and compatibility forms aside. */
const plain = (character: string): string =>
  character
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .replace(/(?<=[a-z])[\u0300-\u036f]+/g, '')
    .normalize('NFKC')

const rowOf = (text: string): string => `\0${charactersOf(text).map(plain).join('\0')}\0`

/** Whether a title holds a piece, character by character; spaces around the piece do not count. */
export const holdsPiece = (title: string, piece: string): boolean => rowOf(title).includes(rowOf(piece.trim()))

/** A piece of a title that begins and ends anywhere, as somebody may type it who sees the title. */
export function pieceOf(random: Random, title: string): string {
  const row = charactersOf(title)
  const from = random.below(row.length + 1)
  const piece = row.slice(from, from + 1 + random.below(12)).join('')
  const typed = random.pick([
    (text: string) => text,
    (text: string) => text,
    (text: string) => text.toLowerCase(),
    (text: string) => text.normalize('NFD'),
    (text: string) => text.normalize('NFC'),
    (text: string) => text.normalize('NFD').replace(/(?<=[a-z])[\u0300-\u036f]+/gi, ''),
  ])(piece)
  // A mark that no letter carries joins whatever stands before it.
  const isWhole = typed.isWellFormed() && !/^[\p{Cf}\u0640]*\p{M}/u.test(typed.normalize('NFKD'))
  return isWhole && holdsPiece(title, typed) ? typed.trim() : ''
}
