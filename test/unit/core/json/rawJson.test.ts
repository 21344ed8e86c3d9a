import fc from 'fast-check'
import * as rawJson from '../../../../src/core/json/rawJson.ts'

/** JSON text as any product may write it, beside what JSON.parse makes of it. */
const space = fc.stringMatching(/^[ \t\n\r]{0,3}$/)
const names = fc.constantFrom(
  ...['a', 'b', '10', '2', '', '__proto__', 'constructor', 'ü', 'with "quotes" \\', '\ud83c\udf89'],
)
const escaped = fc.constantFrom(
  ...['"\\u0061"', '"\\ud800"', '"\\udc00x"', '"\\/\\b\\f\\n\\r\\t\\"\\\\"', '"\\\\"', '"{[,:]}"'],
)
// No name begins with a backslash: once V8 13.6 has read one, its JSON.parse reads escaped names by their raw characters.
const name = fc.oneof(
  { weight: 5, arbitrary: names.map((text) => JSON.stringify(text)) },
  { weight: 1, arbitrary: escaped.filter((text) => !text.startsWith('"\\\\')) },
)
const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.constantFrom('-0', '1e400', '12345678901234567890', '0.10000000000000000555', '1E+2', '7.0'),
)
const scalar = fc.oneof(
  number,
  fc.constantFrom('true', 'false', 'null'),
  escaped,
  fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
)
const { value: json } = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
  value: fc.oneof({ depthSize: 'small', withCrossShrink: true }, scalar, tie('list'), tie('object')),
  list: fc.array(fc.tuple(space, tie('value'), space), { maxLength: 4 }).map((all) => `[${all.map(joined).join(',')}]`),
  object: fc
    .array(fc.tuple(space, name, space, space, tie('value'), space), { maxLength: 5 })
    .map((all) => `{${all.map(([a, n, b, c, v, d]) => `${a}${n}${b}:${c}${v}${d}`).join(',')}}`),
}))
const joined = (parts: readonly string[]): string => parts.join('')
const padded = fc.tuple(space, json, space).map(joined)

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const tokens = (text: string): string[] => text.match(/"(?:[^"\\]|\\.)*"|[^\s",:{}[\]]+|[{}[\],:]/g) ?? []

test('members are the raw texts of what JSON.parse reads, each name once, in the order of first appearance', () => {
  fc.assert(
    fc.property(padded, (text) => {
      const parsed: unknown = JSON.parse(text)
      const members = rawJson.rawMembers(text)
      const expected = isObject(parsed) ? Object.keys(parsed) : []
      expect([...members.keys()].sort()).toEqual(expected.sort())
      for (const [each, raw] of members) {
        expect(JSON.parse(raw)).toEqual(Object.getOwnPropertyDescriptor(parsed, each)?.value)
        expect(raw).toBe(raw.trim())
        expect(text).toContain(raw)
      }
    }),
  )
})

test('elements are the raw texts of what JSON.parse reads', () => {
  fc.assert(
    fc.property(padded, (text) => {
      const parsed: unknown = JSON.parse(text)
      expect(rawJson.rawElements(text).map((raw) => JSON.parse(raw))).toEqual(Array.isArray(parsed) ? parsed : [])
    }),
  )
})

test('digits, escapes and the order of integer-like names stay unchanged', () => {
  const text = '{ "10" : 1.50, "2":12345678901234567890,"x":"\\u0061\\ud800" , "o": { "1" :1e400 } }'
  expect([...rawJson.rawMembers(text)]).toEqual([
    ['10', '1.50'],
    ['2', '12345678901234567890'],
    ['x', '"\\u0061\\ud800"'],
    ['o', '{ "1" :1e400 }'],
  ])
})

test('rendering the members of an object gives the object', () => {
  fc.assert(
    fc.property(padded, (text) => {
      const parsed: unknown = JSON.parse(text)
      if (isObject(parsed)) expect(JSON.parse(rawJson.renderObject(rawJson.rawMembers(text)))).toEqual(parsed)
    }),
  )
})

test('a member without a value is rendered as null', () => {
  const members = [['a', undefined] as const, ['b', '[]'] as const]
  expect(rawJson.renderObject(members)).toBe('{"a":null,"b":[]}')
})

test('JSON without its tabs and line breaks has the same tokens', () => {
  fc.assert(
    fc.property(padded, (text) => {
      expect(rawJson.withoutTabs(text)).not.toMatch(/[\n\r\t]/)
      expect(tokens(rawJson.withoutTabs(text))).toEqual(tokens(text))
    }),
  )
})

test('JSON without repeated names has the same value, each name once at every depth, and every scalar unchanged', () => {
  fc.assert(
    fc.property(padded, (text) => {
      const cleaned = rawJson.withoutRepeatedNames(text)
      expect(JSON.parse(cleaned)).toEqual(JSON.parse(text))
      expect(rawJson.withoutRepeatedNames(cleaned)).toBe(cleaned)
      expect(tokens(cleaned)).toHaveLength(tokens(JSON.stringify(JSON.parse(text))).length)
      expect(cleaned === text).toBe(tokens(cleaned).length === tokens(text).length)
      const written = new Set(tokens(text))
      const scalars = tokens(cleaned).filter((token) => /^[-\d]/.test(token))
      for (const token of scalars) expect(written).toContain(token)
    }),
  )
})

test.each([
  ['{"a":1,"b":2,"a":3.50}', '{"a":3.50,"b":2}'],
  [' [ {"a":"x", "\\u0061":"y" } , 1e400 ] ', '[{"a":"y"},1e400]'],
  ['{"10":{"b":[],"b":{}},"2":[ {"c":1},[0 , 1] ]}', '{"10":{"b":{}},"2":[ {"c":1},[0 , 1] ]}'],
  ['{ "a" : 1 , "b" : "{\\"a\\":1,\\"a\\":2}" }', '{ "a" : 1 , "b" : "{\\"a\\":1,\\"a\\":2}" }'],
])('%p without repeated names is %p', (text, cleaned) => {
  expect(rawJson.withoutRepeatedNames(text)).toBe(cleaned)
})

test('repeated names in a megabyte nested a thousand levels deep are removed in linear time', () => {
  const inside = `[${'[1],'.repeat(250_000)}1]`
  const nested = (member: string): string => member.repeat(998) + inside + '}'.repeat(998)
  // Were each level read anew, this would hold up an indexer's heartbeats for ten seconds.
  expect(rawJson.withoutRepeatedNames(nested('{"a":1,"a":')) === nested('{"a":')).toBe(true)
})
