import fc from 'fast-check'

const pieces = [
  ...['\0', '\u0001', '\t', '\n', '\r', '\u001b', '\u007f', '\u0085', '\u2028'],
  ...['\u0300', '\u0307', '\u0323', '\u064b', '\u05b0', '\u093f', '\u0e34', '\u3099', '\u20dd', '\u20e3'],
  ...['\u200b', '\u200c', '\u200d', '\u200e', '\u200f', '\u202e', '\u2066', '\u2069', '\ufe0f', '\ufeff', '\u00ad'],
  ...['*', '?', '\\', '"', '~', '/', '{', '}', '[', ']', '(', ')', '|', '&', '#', '%', '+', '<', '>', '^', ':', "'"],
  ...[' ', '\u00a0', '\u3000', 'a', 'é', '9', 'ß', 'İ', '漢', 'カ', 'ｶﾞ', '한', 'ﷺ'],
  ...['🎉', '👩🏽‍🔬', '🇯🇵', '\ud800', '\udfff'],
]
const wholePieces = pieces.filter((piece) => piece.isWellFormed())
const marks = ['\u0300', '\u0307', '\u0323', '\u064b', '\u05b0', '\u093f', '\u0e34', '\u3099']

/** Any text, with control characters, lone marks and unpaired surrogates. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.string({ unit: fc.constantFrom(...pieces), maxLength: 80 }),
  fc.string({ unit: fc.constantFrom(...marks), minLength: 1, maxLength: 250, size: 'max' }),
  fc.string({ unit: fc.constantFrom(...wholePieces), minLength: 150, maxLength: 250, size: 'max' }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 40 }).map((units) => String.fromCharCode(...units)),
)

/** Percent-encodes any text; an unpaired surrogate as the three bytes that UTF-8 would give it. */
export const percentEncoded = (text: string): string =>
  text.replace(/[\s\S]/gu, (character) =>
    character.isWellFormed() ? encodeURIComponent(character) : encodeUnit(character.charCodeAt(0)),
  )

const encodeUnit = (unit: number): string =>
  [0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f)]
    .map((byte) => `%${byte.toString(16).toUpperCase()}`)
    .join('')
