import fc from 'fast-check'
import type { TeamId } from '../../../src/domain/identifiers.ts'
import type { Instant } from '../../../src/domain/instant.ts'
import { listForms } from '../../../src/queries/listForms.ts'
import { listRecords } from '../../../src/queries/listRecords.ts'
import { type Asking, type Question, type Replica, replicaBehind } from '../../../src/queries/replica.ts'
import { searchPage, within } from '../../../src/queries/searchPage.ts'

const { signal } = new AbortController()
const team = 'team-1' as TeamId
const reader = { teamId: team, version: null, signal }
const emptyAnswer =
  '{"id":"pit","timed_out":false,"_shards":{"failed":0},"hits":{"total":{"value":0,"relation":"eq"},"hits":[]},"aggregations":{"steps":{"buckets":[]}}}'

const listening = (isFound = true): { replica: Replica; asked: Question[] } => {
  const asked: Question[] = []
  const asking: Asking = {
    indexPrefix: 'tidemark',
    ask: async (question) => {
      asked.push(question)
      return { isFound, text: emptyAnswer }
    },
  }
  return { replica: replicaBehind(asking, 1_000), asked }
}

type Body = { from?: number; size: number; query: { bool: { filter: unknown[] } } }
const bodyOf = (question: Question | undefined): Body => question?.body as Body

describe('searchPage', () => {
  test('asks the alias of the team, newest first, for one page and the exact total', async () => {
    const { replica, asked } = listening()
    await searchPage(replica, 'forms', reader, [], { page: 3, limit: 20 })
    expect(asked).toEqual([
      {
        method: 'POST',
        path: '/tidemark-forms/_search',
        querystring: { routing: 'team-1', allow_partial_search_results: false },
        body: {
          query: { bool: { filter: [{ term: { teamId: 'team-1' } }] } },
          sort: [{ teamId: 'asc' }, { position: 'desc' }],
          track_total_hits: true,
          from: 40,
          size: 20,
        },
      },
    ])
  })

  test('a page far down is looked for in a snapshot, which is closed, and Elasticsearch passes over few rows', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 11, max: Number.MAX_SAFE_INTEGER }),
        fc.integer({ min: 1, max: 100 }),
        async (page, limit) => {
          const { replica, asked } = listening()
          const found = await searchPage(replica, 'forms', reader, [], { page, limit })
          const isDeep = (page - 1) * limit >= replica.deepPageFrom
          expect(found).toEqual({ totalDocs: 0, page, limit, items: [] })
          expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual(
            isDeep ? ['POST /tidemark-forms/_pit', 'POST /_search', 'DELETE /_pit'] : ['POST /tidemark-forms/_search'],
          )
          expect(bodyOf(asked.find(({ path }) => path.endsWith('_search'))).from ?? 0).toBeLessThan(1_000)
        },
      ),
    )
  })

  test('an alias that points nowhere is an outage', async () => {
    const { replica } = listening(false)
    const asking = searchPage(replica, 'forms', reader, [], { page: 1, limit: 20 })
    await expect(asking).rejects.toMatchObject({ reason: 'missing-index' })
  })
})

test('whatever is asked, the question stays within the team', async () => {
  const instant = fc.option(fc.constant('2026-01-01T00:00:00.000Z' as Instant), { nil: undefined })
  const window = fc.record({ since: instant, until: instant })
  const filters = fc.record({
    scene: fc.constantFrom('scored_quiz' as const, undefined),
    titleContains: fc.option(
      fc.string({ unit: 'binary' }).map((text) => text.toWellFormed()),
      { nil: undefined },
    ),
    formId: fc.option(fc.string(), { nil: undefined }),
    status: fc.constantFrom('failed' as const, undefined),
    created: window,
    changed: window,
  })
  await fc.assert(
    fc.asyncProperty(filters, async (filter) => {
      const { replica, asked } = listening()
      await listForms(replica, reader, filter, { page: 1, limit: 20 })
      await listRecords(replica, reader, filter, { page: 1, limit: 20 })
      expect(asked.length).toBeGreaterThanOrEqual(2)
      for (const question of asked) {
        expect(question.querystring['routing']).toBe(team)
        const { bool } = bodyOf(question).query
        expect(Object.keys(bool)).toEqual(['filter'])
        expect(bool.filter).toContainEqual({ term: { teamId: team } })
      }
    }),
  )
})

test('similar titles are asked for only when no title holds what was typed', async () => {
  const titlesAsked = async (titleContains: string): Promise<number> => {
    const { replica, asked } = listening()
    await listForms(replica, reader, { titleContains, changed: {} }, { page: 1, limit: 20 })
    return asked.length
  }
  expect(await titlesAsked('science')).toBe(2)
  expect(await titlesAsked('***')).toBe(1)
  expect(await titlesAsked('')).toBe(1)
})

test('a window without ends needs no clause', () => {
  const [since, until] = ['2026-01-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z'] as [Instant, Instant]
  expect(within('createdAt', {})).toEqual([])
  expect(within('createdAt', { since })).toEqual([{ range: { createdAt: { gte: since } } }])
  expect(within('changedAt', { until })).toEqual([{ range: { changedAt: { lte: until } } }])
  expect(within('createdAt', { since, until })).toEqual([{ range: { createdAt: { gte: since, lte: until } } }])
  expect(within('createdAt', { since: 'beyond-all', until })).toEqual([{ match_none: {} }])
})
