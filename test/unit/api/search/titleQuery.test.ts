import fc from 'fast-check'
import { exactTitle, similarTitles } from '../../../../src/api/search/titleQuery.ts'
import type { TeamId } from '../../../../src/core/model/ids.ts'
import { titleSalt } from '../../../../src/core/model/titles.ts'

const team = 'team-1' as TeamId
const salt = titleSalt(team)
const repeated = fc
  .array(fc.constantFrom('abcd', 'e', '12', '数', 'かきくけ', '한국어', 'परीक्षाओं', '🎉', '*', '?', '\\', '+'))
  .chain((parts) => fc.constantFrom(...' -_').map((mark) => parts.join(mark)))
const anyText = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.string({ unit: fc.constantFrom(..."ab cdé-'&1数か한परी*?\\+#", '🎉'), maxLength: 200 }),
    repeated.map((text) => text.repeat(50)),
  )
  .map((text) => text.slice(0, 200).toWellFormed())

/** Name and text of every question about indexed terms. */
function questions(clause: unknown): { readonly name: string; readonly text: string }[] {
  if (typeof clause !== 'object' || clause === null) return []
  return Object.entries(clause).flatMap(([name, value]) => {
    const text = Object.values(Object(value)).map((field) => Object(field).value)[0]
    return typeof text === 'string' ? [{ name, text }] : questions(value)
  })
}

test.each([
  ['***', '\\*\\*\\*'],
  ['?', '\\?'],
  ['\\', '\\\\'],
  ['—', '—'],
])('%p, which has no word, is looked for as it was written', (typed, escaped) => {
  expect(exactTitle(team, typed)).toEqual({ wildcard: { titleRaw: { value: `${salt}*${escaped}*` } } })
  expect(similarTitles(team, typed)).toEqual([])
})

test('whatever is typed, only words of the team are compared, and no wildcard is typed', () => {
  fc.assert(
    fc.property(anyText, (typed) => {
      const asked = [...questions(exactTitle(team, typed)), ...questions(similarTitles(team, typed))]
      expect(asked.length).toBeGreaterThan(0)
      for (const { name, text } of asked) {
        expect(text.startsWith(salt)).toBe(true)
        if (name === 'wildcard') expect(text.slice(salt.length)).toMatch(/^\*(?:[^*?\\]|\\[*?\\])*\*$/u)
      }
    }),
  )
})

test('whatever is typed, the costly questions are bounded', () => {
  const count = (clause: unknown, name: string): number =>
    questions(clause).filter((question) => question.name === name).length
  fc.assert(
    fc.property(anyText, (typed) => {
      for (const clause of [exactTitle(team, typed), ...similarTitles(team, typed)]) {
        expect(questions(clause).length).toBeLessThan(1_000)
        expect(count(clause, 'wildcard')).toBeLessThanOrEqual(17)
        expect(count(clause, 'fuzzy')).toBeLessThanOrEqual(32)
      }
    }),
    { numRuns: 1_000 },
  )
})

test('two slips in a word are looked for only when one finds nothing, and only in long words', () => {
  const slips = (clause: unknown): unknown[] => JSON.stringify(clause).match(/(?<="fuzziness":)\d/g) ?? []
  expect(similarTitles(team, 'custmer').map(slips)).toEqual([['1', '1']])
  expect(similarTitles(team, 'custumer surwey').map(slips)).toEqual([
    ['1', '1', '1', '1'],
    ['2', '1', '1', '1'],
  ])
})
