export const maxSearchedCharacters = 2_000

/** A mark may itself belong to a script, so the first character must not be one. */
const markedLetter = /((?!\p{M})[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Hebrew}\p{sc=Arabic}])\p{M}+/gu
const katakana = /[\u30a1-\u30f6]/g
const hiraganaDistance = 0x60
/**
 * Invisible or often not typed: direction and joining controls, variation selectors, keycaps, skin tones, Arabic tatweel, Indic nukta. Zero-width spaces and
 * non-joiners stay: they separate words.
 */
const droppedCharacters =
  /(?![\u200b\u200c])\p{Cf}|[\ufe00-\ufe0f\u20e3\u0640\u093c\u09bc\u0a3c\u0abc\u0b3c\u0cbc]|\p{EMod}/gu

/** `letter:plain form`, where people also type a plainer form, and NFKD does not decompose. */
const plainForms = new Map(
  [
    'ß:ss æ:ae œ:oe ø:o ł:l đ:d ð:d þ:th ħ:h ŋ:n ŧ:t ı:i ς:σ ґ:г ♯:#',
    'ך:כ ם:מ ן:נ ף:פ ץ:צ',
    'ٱ:ا ة:ه ە:ه ہ:ه ھ:ه ى:ي ی:ي ک:ك ڪ:ك',
    '\u0901:\u0902 \u0981:\u0982',
  ].flatMap((forms) => forms.split(' ').map((form) => form.split(':') as [string, string])),
)
const letterWithPlainForm = new RegExp(`[${[...plainForms.keys()].join('')}]`, 'gu')
/** Apostrophes that are letters in Unicode, and accents that NFKD would split. */
const apostrophe = /[\u00b4\u0374\u1ffd\u02b9-\u02bd\u02c8\u02ee]/g

/**
 * Makes texts equal that people regard as the same: removes compatibility forms, case, and marks that people leave out; makes katakana hiragana, and all digits
 * 0 to 9. Idempotent. Truncates before and after: one character may become eighteen, and Elasticsearch refuses a keyword of more than 32,766 bytes.
 */
export const foldCharacters = (title: string): string =>
  title
    .slice(0, maxSearchedCharacters)
    .toWellFormed()
    .replace(apostrophe, "'")
    .normalize('NFKD')
    .toLowerCase()
    .normalize('NFKD')
    .replace(droppedCharacters, '')
    .replace(markedLetter, '$1')
    .replace(letterWithPlainForm, (form) => plainForms.get(form) ?? form)
    .replace(/(?![0-9])\p{Nd}/gu, digitValue)
    .normalize('NFKC')
    .slice(0, maxSearchedCharacters)
    .toWellFormed()
    .replace(katakana, (letter) => String.fromCharCode(letter.charCodeAt(0) - hiraganaDistance))

/** A script's ten digits follow each other, so the value is the number of digits before it; modulo ten, because another script's may come directly before. */
function digitValue(digit: string): string {
  const code = digit.codePointAt(0) ?? 0
  let digitsBefore = 0
  while (/\p{Nd}/u.test(String.fromCodePoint(code - digitsBefore - 1))) digitsBefore++
  return String(digitsBefore % 10)
}
