import fc from 'fast-check'
import { asIJson, escapeOf, jsonOf } from '../../../../src/core/json/iJson.ts'
import { anyText } from '../../../support/anyText.ts'
import { wellFormed } from '../../../support/wellFormed.ts'

const lineEnds = /[\u0085\u2028\u2029]/
const text = fc.oneof(anyText, fc.constantFrom('\\', '\\ud83d', '\ud83d\\ude00', '\u2028', '\u0085\ude00\ud83d'))
// No name holds a backslash: once V8 13.6 has read one, its JSON.parse reads escapes in names by their raw characters.
const name = text.map((each) => each.replaceAll('\\', ''))
const values = fc.oneof(text, fc.array(text), fc.dictionary(name, text, { noNullPrototype: true }))
/** JSON in ASCII, as Python writes it. */
const inEscapes = (json: string): string => json.replace(/[^ -~]/g, escapeOf)
const written = fc.tuple(values, fc.boolean()).map(([value, isAscii]) => {
  const json = JSON.stringify(value)
  return { value, json: isAscii ? inEscapes(json) : json }
})

test('JSON becomes the same value with whole characters on one line, and a second pass changes nothing', () => {
  fc.assert(
    fc.property(written, ({ value, json }) => {
      const found = asIJson(Buffer.from(json))
      expect(JSON.parse(found.toString())).toEqual(wellFormed(value))
      expect(found.toString()).not.toMatch(lineEnds)
      expect(asIJson(found)).toBe(found)
    }),
    { numRuns: 2_000 },
  )
})

test('JSON that is well formed and on one line is not copied', () => {
  const json = Buffer.from(String.raw`{"漢字 🎉":"\ud83d\ude00 \u4e00 \\ud83d \n"}`)
  expect(asIJson(json)).toBe(json)
})

test.each([
  ['two second halves', String.raw`"\udc00\ude00"`, String.raw`"\ufffd\ufffd"`],
  ['a first half before text like a second one', String.raw`"\ud83dxude00"`, String.raw`"\ufffdxude00"`],
  ['text like a half after another escape', String.raw`"\u0041\nd83d"`, String.raw`"\u0041\nd83d"`],
])('%s: %s is passed on as %s', (_, json, expected) => {
  expect(asIJson(Buffer.from(json)).toString()).toBe(expected)
})

test('the original bytes stay unchanged, for the dead letter of a refused record', () => {
  const json = Buffer.from(String.raw`"\ud83d"`)
  asIJson(json)
  expect(json.toString()).toBe(String.raw`"\ud83d"`)
})

test.each(['zd00', 'dz00', 'd8z0', 'd80z', 'dcz0', 'dc0z'])(
  'an invalid escape \\u%s is still invalid JSON afterwards',
  (digits) => {
    const found = asIJson(Buffer.from(`"\\u${digits}"`)).toString()
    expect(() => JSON.parse(found)).toThrow(SyntaxError)
  },
)

test('any well-formed value becomes JSON on one line, also for readers that break lines at U+2028 or U+0085', () => {
  fc.assert(
    fc.property(values.map(wellFormed), (value) => {
      expect(jsonOf(value)).not.toMatch(lineEnds)
      expect(JSON.parse(jsonOf(value))).toEqual(value)
    }),
  )
})

test.each(['\\\\', '\\ud83d', '\\ud83d\\ude00', '\u2028', '\\u', '\\"'])(
  'two million times %j are read quickly',
  (piece) => {
    const json = Buffer.from(`"${piece.repeat(2_000_000)}"`)
    expect(asIJson(json).length).toBeGreaterThanOrEqual(json.length)
  },
)
