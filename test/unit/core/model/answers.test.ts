import fc from 'fast-check'
import { answerBeginning, answerField, answerTerms } from '../../../../src/core/model/answers.ts'

/** The terms of a code in the JSON of answers, without how they begin. */
function valuesOf(code: string, data: string): string[] {
  const terms = JSON.parse(answerTerms(data)) as Record<string, string[]>
  const own = (terms[answerField(code).replace('answers.', '')] ?? []).filter((each) =>
    each.startsWith(answerBeginning(code)),
  )
  return own.map((each) => each.slice(answerBeginning(code).length))
}

test('an answer is indexed by the values that are served: digits as written, text without escapes, elements of a list', () => {
  const data = String.raw`{"n":1.0,"e":1E+2,"big":12345678901234567890.10,"t":"\u00e9\n\"","list":[1.50,"a",true,null,["b"],{"c":1}],"no":null,"o":{"a":1},"":"x"}`
  expect(['n', 'e', 'big', 't', 'list', 'no', 'o', ''].map((code) => valuesOf(code, data))).toEqual([
    ['1.0'],
    ['1E+2'],
    ['12345678901234567890.10'],
    ['é\n"'],
    ['1.50', 'a', 'true'],
    [],
    [],
    ['x'],
  ])
})

test('a code is always in the same index field, and codes are spread over all fields', () => {
  const fields = { q1: 0, q2: 1, score: 15, 漢字: 8, ['a'.repeat(256)]: 6, '': 0 }
  for (const [code, field] of Object.entries(fields)) expect(answerField(code)).toBe(`answers.${field}`)
  expect(answerTerms('{"q1":"x","score":[1,2]}')).toBe('{"0":["2.q1x"],"15":["5.score1","5.score2"]}')
  expect(new Set(Array.from({ length: 100 }, (_, at) => answerField(`q${at}`))).size).toBe(16)
})

test('no two pairs of code and value have the same term', () => {
  const anyPart = fc.string({ unit: fc.constantFrom('1', '2', '.', 'a', '', 'é') })
  fc.assert(
    fc.property(anyPart, anyPart, anyPart, anyPart, (code, value, otherCode, otherValue) => {
      const isSame = code === otherCode && value === otherValue
      expect(answerBeginning(code) + value === answerBeginning(otherCode) + otherValue).toBe(isSame)
    }),
  )
})

test('a submission has at most a thousand terms, none longer than a code and a value of 256 characters', () => {
  const many = Array.from({ length: 2_000 }, (_, at) => at)
  expect(valuesOf('q', JSON.stringify({ q: many }))).toEqual(many.slice(0, 1_000).map(String))
  const without = [null, {}, [], 'x'.repeat(257)].flatMap((each) => Array.from({ length: 1_000 }, () => each))
  expect(valuesOf('q', JSON.stringify({ none: null, q: [...without, ...many] }))).toHaveLength(1_000)
  const [longest, longer] = ['x'.repeat(256), 'x'.repeat(257)]
  const data = JSON.stringify({ [longer]: 'a', [longest]: [longer, longest] })
  expect([longest, longer].map((code) => valuesOf(code, data))).toEqual([[longest], []])
})

test('a text has the same term with any escapes, up to 256 characters', () => {
  const escaped = (characters: number): string => `{"q":"${String.raw`\u0041`.repeat(characters)}"}`
  expect(valuesOf('q', escaped(256))).toEqual(['A'.repeat(256)])
  expect(valuesOf('q', escaped(257))).toEqual([])
})
