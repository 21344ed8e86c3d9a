import { createIndexReader, type IndexReader } from '../../src/api/search/indexReader.ts'
import { openSearchClient } from '../../src/api/search/searchClient.ts'
import { searchPage } from '../../src/api/search/searchPage.ts'
import { connectElasticsearch } from '../../src/core/elasticsearch/elasticsearch.ts'
import type { TeamId } from '../../src/core/model/ids.ts'
import type { ListVersion } from '../../src/core/redis/listVersions.ts'
import { testConfig } from '../support/config.ts'
import { submissionEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { useStarted } from '../support/lifecycle.ts'
import { createTestReplica } from '../support/replica.ts'

const team = 'team-1' as TeamId
const { signal } = new AbortController()
const [first, second] = ['version-1', 'version-2'] as [ListVersion, ListVersion]

const stored = useStarted('the replica', createTestReplica, { forEachTest: true })
const elasticsearch = useStarted('the client', () => connectElasticsearch(testConfig({})), { forEachTest: true })
beforeEach(() => store(0, 300))

const submission = (at: number) => {
  const [id, submittedAt] = [`s-${at}`, new Date(Date.UTC(2026, 2, 1, 0, at)).toISOString()] as const
  return { team, id, entity: submissionEntity({ id, submittedAt }) }
}
const store = (from: number, to: number): Promise<void> =>
  stored.storeSubmissions(...Array.from({ length: to - from }, (_, at) => submission(from + at)))

/** A indexReader in which every page is a deep one, and what it is asked. */
function watched(): { indexReader: IndexReader; asked: string[] } {
  const asked: string[] = []
  const inner = createIndexReader(openSearchClient(elasticsearch, stored.prefix, true), 0)
  const asking = {
    ...inner,
    send: ((question, until) => {
      asked.push(`${question.method} ${question.path.split('/').at(-1)}`)
      return inner.send(question, until)
    }) as IndexReader['send'],
  }
  return { indexReader: createIndexReader(asking, 0), asked }
}

async function read(
  indexReader: IndexReader,
  version: ListVersion | null,
  page = 11,
): Promise<{ total: number; ids: string[] }> {
  const list = { ...indexReader, type: 'submissions' as const, teamId: team, version, indices: undefined }
  const found = await searchPage(list, [[]], { page, limit: 20 }, false, signal)
  return { total: found.total, ids: found.rows.map((item) => (JSON.parse(item.toString()) as { id: string }).id) }
}
const idsDownFrom = (highest: number): string[] => Array.from({ length: 20 }, (_, at) => `s-${highest - at}`)

test('a deep page of an unchanged list is read again with one search, and its neighbours with few', async () => {
  const { indexReader, asked } = watched()
  expect(await read(indexReader, first)).toEqual({ total: 300, ids: idsDownFrom(99) })
  asked.length = 0
  expect(await read(indexReader, first)).toEqual({ total: 300, ids: idsDownFrom(99) })
  expect(asked).toEqual(['POST _search'])
  asked.length = 0
  expect(await read(indexReader, first, 12)).toEqual({ total: 300, ids: idsDownFrom(79) })
  expect(asked).toEqual(['POST _search'])
})

test('a changed list is counted anew with few searches, and its older snapshot is closed', async () => {
  const { indexReader, asked } = watched()
  await read(indexReader, first)
  await store(300, 320)
  asked.length = 0
  expect(await read(indexReader, second)).toEqual({ total: 320, ids: idsDownFrom(119) })
  expect(asked.toSorted()).toEqual(['DELETE _pit', 'POST _pit', ...Array(asked.length - 2).fill('POST _search')])
  expect(asked.length).toBeLessThanOrEqual(7)
  await eventually(async () => (await stored.openContexts()) === 1)
})

test('a list without a version is read anew each time, and no snapshot stays open', async () => {
  const { indexReader } = watched()
  expect(await read(indexReader, null)).toEqual({ total: 300, ids: idsDownFrom(99) })
  await store(300, 310)
  expect(await read(indexReader, null)).toEqual({ total: 310, ids: idsDownFrom(109) })
  await eventually(async () => (await stored.openContexts()) === 0)
})

test('an expired snapshot is opened again', async () => {
  const { indexReader, asked } = watched()
  await read(indexReader, first)
  const index = `${stored.prefix}-submissions`
  await elasticsearch.indices.close({ index })
  await elasticsearch.indices.open({ index, wait_for_active_shards: 1 })
  asked.length = 0
  expect(await read(indexReader, first)).toEqual({ total: 300, ids: idsDownFrom(99) })
  expect(asked.filter((each) => each === 'POST _pit')).toHaveLength(1)
})

test('concurrent readers of several versions of a list all get their page, and one snapshot is left', async () => {
  const { indexReader } = watched()
  const versions = Array.from({ length: 40 }, (_, at) => `version-${at % 7}` as ListVersion)
  const pages = await Promise.all(versions.map((version) => read(indexReader, version)))
  for (const page of pages) expect(page).toEqual({ total: 300, ids: idsDownFrom(99) })
  await eventually(async () => (await stored.openContexts()) === 1)
})
