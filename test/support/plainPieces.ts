import type { Random } from './random.ts'

/** Substring search in titles by a simple comparison, independent of how titles are indexed. */

const characters = new Intl.Segmenter('en', { granularity: 'grapheme' })
const charactersOf = (text: string): string[] => [...characters.segment(text)].map(({ segment }) => segment)

/** Folds a character: case, marks on Latin letters, compatibility forms. */
const plain = (character: string): string =>
  character
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .replace(/(?<=[a-z])[\u0300-\u036f]+/g, '')
    .normalize('NFKC')

const rowOf = (text: string): string => `\0${charactersOf(text).map(plain).join('\0')}\0`

/** Whether a title contains a piece; spaces around the piece do not count. */
export const containsPiece = (title: string, piece: string): boolean => rowOf(title).includes(rowOf(piece.trim()))

/** A random substring of a title, as a person may type it. */
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
  // A piece must not begin with a combining mark, which would join the character before.
  const isWhole = typed.isWellFormed() && !/^[\p{Cf}\u0640]*\p{M}/u.test(typed.normalize('NFKD'))
  return isWhole && containsPiece(title, typed) ? typed.trim() : ''
}
