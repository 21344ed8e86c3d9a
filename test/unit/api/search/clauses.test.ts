import {
  type Clause,
  createdWithin,
  deletedOfTeam,
  largeOf,
  ofTeam,
  scoreClauses,
  termClauses,
  windowClauses,
} from '../../../../src/api/search/clauses.ts'
import type { TeamId } from '../../../../src/core/model/ids.ts'
import type { Instant } from '../../../../src/core/model/instant.ts'

const team = 'acme' as TeamId
const form: Clause = { term: { formId: 'f1' } }

test.each<[string, Clause, Clause[]]>([
  ['rows', ofTeam(team, [form]), [{ term: { teamId: 'acme' } }, form]],
  ['deletions', deletedOfTeam(team, [form]), [{ term: { 'tombstone.teamId': 'acme' } }, form]],
  ['large summaries', largeOf(team, 'summary'), [{ term: { 'large.summaryOf': 'acme' } }]],
  ['large details', largeOf(team, 'detail'), [{ term: { 'large.detailOf': 'acme' } }]],
])('%s are searched for among those of one team', (_, query, filter) => {
  expect(query).toEqual({ bool: { filter } })
})

const [since, until] = ['2026-03-01T00:00:00.000Z', '2026-03-31T23:59:59.999Z'] as Instant[]
const none = [{ match_none: {} }]

test.each([
  ['no bound', windowClauses('changedAt'), []],
  ['a beginning', windowClauses('changedAt', since), [{ range: { changedAt: { gte: since } } }]],
  ['an end', windowClauses('changedAt', undefined, until), [{ range: { changedAt: { lte: until } } }]],
  ['both', windowClauses('changedAt', since, until), [{ range: { changedAt: { gte: since, lte: until } } }]],
  ['a beginning after all rows', windowClauses('changedAt', 'beyond-all'), none],
  ['an end before all rows', windowClauses('changedAt', since, 'beyond-all'), none],
])('a window with %s', (_, clauses, expected) => {
  expect(clauses).toEqual(expected)
})

test('a span of time that begins before the year 0 or ends after 9999 is searched as far as there are rows', () => {
  const [gte, lte] = ['0000-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z']
  const all = { fromMs: Date.parse(gte) - 1, toMs: Date.parse(lte) + 1 }
  expect(createdWithin(all)).toEqual({ range: { createdAt: { gte, lte } } })
})

test('what a request does not ask for is no condition', () => {
  expect(termClauses('status', undefined)).toEqual([])
  expect(termClauses('status', '')).toEqual([{ term: { status: '' } }])
  expect(scoreClauses()).toEqual([])
})

test.each([
  ['from 0, which finds -0, too', scoreClauses(0), { gte: '-0.0' }],
  ['up to 0', scoreClauses(undefined, 0), { lte: 0 }],
  ['between two bounds', scoreClauses(-1.5, 80), { gte: -1.5, lte: 80 }],
])('scores %s', (_, clauses, bounds) => {
  expect(clauses).toEqual([{ range: { 'summary.result.score': bounds } }])
})
