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

type Question = { readonly name: string; readonly text: string; readonly isFuzzy: boolean }

/** Every question about indexed terms; a `match` of several words is several. */
function questions(clause: unknown): Question[] {
  if (typeof clause !== 'object' || clause === null) return []
  return Object.entries(clause).flatMap(([name, value]) => {
    const [{ value: text, query, fuzziness } = {}] = Object.values(Object(value)).map(Object)
    if (typeof query === 'string')
      return query.split(' ').map((word) => ({ name, text: word, isFuzzy: fuzziness !== undefined }))
    return typeof text === 'string' ? [{ name, text, isFuzzy: false }] : questions(value)
  })
}

test.each([
  ['***', '\\*\\*\\*'],
  ['?', '\\?'],
  ['\\', '\\\\'],
  ['—', '—'],
])('the text %p, which has no word, is searched as written', (typed, escaped) => {
  expect(exactTitle(team, typed)).toEqual({ wildcard: { titleRaw: { value: `${salt}*${escaped}*` } } })
  expect(similarTitles(team, typed)).toEqual([])
})

test('for any text, only terms of the team are compared, and typed wildcards are literal', () => {
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

test('for any text, the number of costly clauses is bounded', () => {
  const count = (clause: unknown, name: string): number =>
    questions(clause).filter((question) => question.name === name).length
  fc.assert(
    fc.property(anyText, (typed) => {
      for (const clause of [exactTitle(team, typed), ...similarTitles(team, typed)]) {
        expect(questions(clause).length).toBeLessThan(1_000)
        expect(count(clause, 'wildcard')).toBeLessThanOrEqual(17)
        expect(questions(clause).filter(({ isFuzzy }) => isFuzzy).length).toBeLessThanOrEqual(32)
      }
    }),
    { numRuns: 1_000 },
  )
})

test('two typos in a word are tried only if one finds nothing, and only in long words', () => {
  const slips = (clause: unknown): unknown[] => JSON.stringify(clause).match(/(?<="fuzziness":)\d/g) ?? []
  expect(similarTitles(team, 'custmer').map(slips)).toEqual([['1', '1']])
  expect(similarTitles(team, 'custumer surwey').map(slips)).toEqual([
    ['1', '1', '1', '1'],
    ['2', '1', '1', '1'],
  ])
})
