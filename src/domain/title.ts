import { createHash } from 'node:crypto'
import type { TeamId } from './identifiers.ts'

/** Titles are served whole and searched in their first characters. */
const maxSearchedCharacters = 2_000
/** Below the 255 at which Elasticsearch's whitespace tokenizer would cut a word in two. */
const maxWordCharacters = 100

const markedLetter = /([\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Hebrew}\p{sc=Arabic}])\p{M}+/gu
const katakana = /[\u30a1-\u30f6]/g
/** A mark counts only behind a letter or digit: an emoji's variation selector is no word. */
const wholeWord = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu
const singleCharacterWord = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]/gu

/** Letters that Unicode does not decompose, but readers type without. */
const plainLetters: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ħ: 'h',
  ı: 'i',
  ς: 'σ',
}
const plainLetter = new RegExp(`[${Object.keys(plainLetters).join('')}]`, 'g')
const hiraganaDistance = 0x60

/**
 * What titles and queries are compared by: compatibility forms and case folded, marks off where readers leave them out,
 * katakana as hiragana, everything that is no letter or digit a single space. Folding twice changes nothing. Cut once more
 * after unfolding: one character may become eighteen, and Elasticsearch refuses a keyword of more than 32,766 bytes.
 */
export function foldTitle(title: string): string {
  const words = title
    .slice(0, maxSearchedCharacters)
    .toWellFormed()
    .normalize('NFKD')
    .toLowerCase()
    .normalize('NFKD')
    .replace(markedLetter, '$1')
    .replace(plainLetter, (letter) => plainLetters[letter] ?? letter)
    .normalize('NFKC')
    .slice(0, maxSearchedCharacters)
    .toWellFormed()
    .replace(katakana, (letter) => String.fromCharCode(letter.charCodeAt(0) - hiraganaDistance))
    .match(wholeWord)
  return words?.join(' ') ?? ''
}

/** The words of a folded title; scripts written without spaces give one word a character. */
export const foldedWords = (folded: string): string[] =>
  folded
    .replace(singleCharacterWord, ' $& ')
    .split(' ')
    .filter((word) => word !== '')
    .map((word) => word.slice(0, maxWordCharacters).toWellFormed())

/** A title as it was written, for queries that fold to nothing (punctuation, emoji). */
export const rawTitle = (title: string): string => title.slice(0, maxSearchedCharacters).toWellFormed().toLowerCase()

/**
 * Stands before every searched term of a team, so that the cost of a wildcard and the expansions of a fuzzy word follow the
 * team, not the cluster, and no other team's word is ever compared. Of fixed length; U+0001 is in no folded word.
 */
export const titleSalt = (teamId: TeamId): string =>
  `${createHash('sha256')
    .update(teamId)
    .digest('hex')
    .slice(0, titleSaltLength - 1)}\u0001`

export const titleSaltLength = 17
