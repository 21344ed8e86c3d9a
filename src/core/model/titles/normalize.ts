import { createHash } from 'node:crypto'
import type { TeamId } from '../ids.ts'

/** Titles are served whole and searched in their first characters. */
export const maxSearchedCharacters = 2_000

const markedLetter = /([\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Hebrew}\p{sc=Arabic}])\p{M}+/gu
const katakana = /[\u30a1-\u30f6]/g
const hiraganaDistance = 0x60
const digitZeros = '٠۰߀०০੦૦୦௦౦೦൦๐໐༠၀០'
const foreignDigit = new RegExp(`[${[...digitZeros].map((zero) => `${zero}-${digitAfter(zero, 9)}`).join('')}]`, 'gu')
/**
 * Seen by nobody, or seen and left out: controls of direction and joining, variation selectors, keycaps, skin tones, the Arabic
 * stretch, the dot below of Indic letters. A zero-width space or non-joiner stays: it stands where others write a space.
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
 * A title as its words are compared: compatibility forms and case folded, marks off where readers leave them out, katakana as
 * hiragana, digits of all scripts as 0 to 9; punctuation stays. Doing it twice changes nothing. Cut once more after unfolding:
 * one character may become eighteen, and Elasticsearch refuses a keyword of more than 32,766 bytes.
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
    .replace(foreignDigit, (digit) => String(digitValue(digit)))
    .normalize('NFKC')
    .slice(0, maxSearchedCharacters)
    .toWellFormed()
    .replace(katakana, (letter) => String.fromCharCode(letter.charCodeAt(0) - hiraganaDistance))

/**
 * Stands before every searched term of a team, so that the cost of a wildcard and the expansions of a fuzzy word follow the
 * team, not the cluster, and no other team's word is ever compared. Of fixed length, so that what follows it is the term. Should
 * two of many teams have the same one, each still finds its own forms only, and pays for both.
 */
export const titleSalt = (teamId: TeamId): string =>
  createHash('sha256').update(teamId).digest('base64url').slice(0, titleSaltLength)

export const titleSaltLength = 8

function digitAfter(zero: string, value: number): string {
  return String.fromCodePoint((zero.codePointAt(0) ?? 0) + value)
}

function digitValue(digit: string): number {
  return (
    [...digitZeros].map((zero) => digit.charCodeAt(0) - zero.charCodeAt(0)).find((far) => far >= 0 && far < 10) ?? 0
  )
}
