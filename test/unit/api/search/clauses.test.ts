import {
  type Clause,
  createdWithin,
  largeRowsOf,
  ofTeam,
  scoreClauses,
  termClauses,
  windowClauses,
} from '../../../../src/api/search/clauses.ts'
import type { TeamId } from '../../../../src/core/model/ids.ts'
import type { Instant, WindowBound } from '../../../../src/core/model/instant.ts'

const team = 'acme' as TeamId
const form: Clause = { term: { formId: 'f1' } }

test.each<[string, () => Clause, Clause[]]>([
  ['rows', () => ofTeam(team, [form]), [{ term: { teamId: 'acme' } }, form]],
  ['large summaries', () => largeRowsOf(team, 'summary'), [{ term: { 'large.summaryOf': 'acme' } }]],
  ['large details', () => largeRowsOf(team, 'detail'), [{ term: { 'large.detailOf': 'acme' } }]],
])('%s are searched among those of one team', (_, query, filter) => {
  expect(query()).toEqual({ bool: { filter } })
})

const [since, until] = ['2026-03-01T00:00:00.000Z', '2026-03-31T23:59:59.999Z'] as Instant[]
const none = [{ match_none: {} }]

test.each<[string, (WindowBound | undefined)[], Clause[]]>([
  ['no bound', [], []],
  ['a beginning', [since], [{ range: { changedAt: { gte: since } } }]],
  ['an end', [undefined, until], [{ range: { changedAt: { lte: until } } }]],
  ['both', [since, until], [{ range: { changedAt: { gte: since, lte: until } } }]],
  ['a beginning after all rows', ['beyond-all'], none],
  ['an end before all rows', [since, 'beyond-all'], none],
])('a window with %s', (_, bounds, expected) => {
  expect(windowClauses('changedAt', ...bounds)).toEqual(expected)
})

test('a time range that begins before the year 0 or ends after 9999 is cut to these years', () => {
  const [gte, lte] = ['0000-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z']
  const all = { fromMs: Date.parse(gte) - 1, toMs: Date.parse(lte) + 1 }
  expect(createdWithin(all)).toEqual({ range: { createdAt: { gte, lte } } })
})

test('an absent parameter is no condition', () => {
  expect(termClauses('status', undefined)).toEqual([])
  expect(termClauses('status', '')).toEqual([{ term: { status: '' } }])
  expect(scoreClauses()).toEqual([])
})

test.each<[string, (number | undefined)[], { gte?: number | string; lte?: number }]>([
  ['from 0, which finds -0, too', [0], { gte: '-0.0' }],
  ['up to 0', [undefined, 0], { lte: 0 }],
  ['between two bounds', [-1.5, 80], { gte: -1.5, lte: 80 }],
])('scores %s', (_, bounds, expected) => {
  expect(scoreClauses(...bounds)).toEqual([{ range: { 'summary.result.score': expected } }])
})
