import fc from 'fast-check'
import { type Filters, termClauses, windowClauses } from '../../../../src/api/search/clauses.ts'
import { ElasticsearchUnavailable, type SearchRequest } from '../../../../src/api/search/searchClient.ts'
import { searchPage } from '../../../../src/api/search/searchPage.ts'
import { exactTitle, similarTitles } from '../../../../src/api/search/titleQuery.ts'
import type { TeamId } from '../../../../src/core/model/ids.ts'
import type { Instant } from '../../../../src/core/model/instant.ts'
import type { ListVersion } from '../../../../src/core/redis/listVersions.ts'
import { askedList, searchAnswer } from '../../../support/askedList.ts'

const { signal } = new AbortController()
const team = 'team-1' as TeamId
const nothing = searchAnswer(
  { total: { value: 0, relation: 'eq' }, hits: [] },
  { id: 'pit', aggregations: { counts: { buckets: [] } } },
)
const listening = () => askedList(() => nothing)

type Body = { from?: number; size: number; query: { bool: { filter: unknown[] } } }
const bodyOf = (question: SearchRequest | undefined): Body => question?.body as Body

test('a deep page, or one of large rows, is read in a snapshot, which is closed, and few rows are skipped', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 11, max: Number.MAX_SAFE_INTEGER }),
      fc.integer({ min: 1, max: 100 }),
      fc.boolean(),
      async (page, limit, hasLarge) => {
        const { list, asked } = listening()
        const found = await searchPage(list, [[]], { page, limit }, hasLarge, signal)
        const isDeep = hasLarge || (page - 1) * limit >= list.deepPageFrom
        expect(found).toEqual({ total: 0, rows: [] })
        expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual(
          isDeep ? ['POST /tidemark-forms/_pit', 'POST /_search', 'DELETE /_pit'] : ['POST /tidemark-forms/_search'],
        )
        const search = asked.find(({ path }) => path.endsWith('_search'))
        expect(search?.querystring).toMatchObject({ allow_partial_search_results: false })
        expect(bodyOf(search).from ?? 0).toBeLessThan(1_000)
      },
    ),
  )
})

test.each([
  ['refused', true],
  ['deadline', false],
] as const)('a cached snapshot whose search fails (%s) is replaced at once: %p', async (reason, isReplaced) => {
  let failures = 1
  const { list, asked } = askedList(({ path }) => {
    if (path === '/_search' && failures-- > 0) throw new ElasticsearchUnavailable(reason, '')
    return nothing
  })
  const read = () =>
    searchPage({ ...list, version: 'v' as ListVersion }, [[]], { page: 101, limit: 100 }, false, signal)
  if (isReplaced) expect(await read()).toEqual({ total: 0, rows: [] })
  else await expect(read()).rejects.toThrow(reason)
  await read()
  expect(asked.filter(({ path }) => path.endsWith('/_pit') && path !== '/_pit')).toHaveLength(isReplaced ? 3 : 1)
})

test('every search stays within the team', async () => {
  const instant = fc.option(fc.constant('2026-01-01T00:00:00.000Z' as Instant), { nil: undefined })
  const value = fc.option(fc.string(), { nil: undefined })
  const clauses = fc.tuple(value, instant, instant).map(([formId, since, until]) => {
    return [...termClauses('formId', formId), ...windowClauses('changedAt', since, until)]
  })
  const title = fc.string({ unit: 'binary' }).map((text) => text.toWellFormed())
  await fc.assert(
    fc.asyncProperty(clauses, title, async (filter, typed) => {
      const { list, asked } = listening()
      await searchPage({ ...list, type: 'submissions' }, [filter], { page: 1, limit: 20 }, false, signal)
      const [first, ...others] = [[exactTitle(team, typed)], ...similarTitles(team, typed).map((similar) => [similar])]
      const both: Filters = [[...filter, ...(first ?? [])], ...others.map((other) => [...filter, ...other])]
      await searchPage(list, both, { page: 1, limit: 20 }, false, signal)
      expect(asked.length).toBeGreaterThanOrEqual(2)
      for (const question of asked) {
        expect(question.querystring?.['routing']).toBe(team)
        const { bool } = bodyOf(question).query
        expect(Object.keys(bool)).toEqual(['filter'])
        expect(bool.filter).toContainEqual({ term: { teamId: team } })
      }
    }),
  )
})
