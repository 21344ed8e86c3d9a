import { readPrimaries } from '../../../../src/api/search/readPrimaries.ts'
import {
  ElasticsearchUnavailable,
  type SearchClient,
  type SearchRequest,
} from '../../../../src/api/search/searchClient.ts'
import { definitionOf, physicalName } from '../../../../src/core/elasticsearch/indices.ts'
import type { TeamId } from '../../../../src/core/model/ids.ts'
import { eventually } from '../../../support/eventually.ts'

const { signal } = new AbortController()
const team = 'team-1' as TeamId
const search = (): SearchRequest => ({
  method: 'POST',
  path: '/x-forms/_search',
  querystring: { routing: team },
  shard: { type: 'forms', teamId: team, alias: 'x-forms' },
})

/** A cluster whose primaries are on a node; it answers with where it was asked. */
class Cluster {
  primary: { node: string } | undefined = { node: 'a' }
  index: string = physicalName('x', 'forms', definitionOf('forms', true).version, 1)
  /** Nodes that hold no copy any more, though the master may not know it yet. */
  readonly gone = new Set<string>()
  /** The index that replaces the present one, which is removed before it is searched. */
  successor: string | undefined
  hasReplica = true
  elapsedMs = 0
  lookUps = 0
  readonly asked: SearchRequest[] = []
  client = this.startProcess()

  /** A client of a process that has just started. */
  startProcess(hasAnswers = true): SearchClient {
    const inner: SearchClient = { indexPrefix: 'x', hasAnswers, send: async (request) => this.#answer(request) }
    return readPrimaries(inner, () => this.elapsedMs)
  }

  async read(request = search()): Promise<string> {
    return String((await this.client.send(request, signal)).bytes)
  }

  #answer(request: SearchRequest): { isFound: boolean; bytes: Buffer } {
    if (request.path.endsWith('/_search_shards')) {
      this.lookUps++
      return { isFound: true, bytes: Buffer.from(JSON.stringify(this.#shards())) }
    }
    this.asked.push(request)
    const node = String(request.querystring?.['preference'] ?? '')
    if (this.gone.has(node.replace('_only_nodes:', ''))) throw new ElasticsearchUnavailable('no-copy', '')
    if (this.successor !== undefined) {
      Object.assign(this, { index: this.successor, successor: undefined })
      return { isFound: false, bytes: Buffer.alloc(0) }
    }
    const bytes = Buffer.from(node)
    request.check?.(bytes)
    return { isFound: true, bytes }
  }

  #shards(): object {
    const { index } = this
    const replica = { primary: false, index, node: 'c' }
    const primary = this.primary && { primary: true, index, node: this.primary.node }
    return { shards: [[...(this.hasReplica ? [replica] : []), ...(primary === undefined ? [] : [primary])]] }
  }
}

test('a team is read from the primary of its shard', async () => {
  const cluster = new Cluster()
  expect(await cluster.read()).toBe('_only_nodes:a')
  const querystring = { routing: team, preference: '_only_nodes:a' }
  expect(cluster.asked).toEqual([{ ...search(), path: `/${cluster.index}/_search`, querystring }])
})

test('a search without a team, such as one of a snapshot, is sent unchanged', async () => {
  const cluster = new Cluster()
  const request: SearchRequest = { method: 'POST', path: '/_search', querystring: {}, body: { pit: { id: 'p' } } }
  await cluster.read(request)
  expect(cluster.asked).toEqual([request])
  expect(cluster.lookUps).toBe(0)
})

test('without a primary, the search is sent all the same, and Elasticsearch reports what is missing', async () => {
  const cluster = new Cluster()
  cluster.primary = undefined
  await cluster.read()
  expect(cluster.asked).toEqual([search()])
})

test('an index of an earlier release is not searched, because it may lack fields; an index of a later release is', async () => {
  const cluster = new Cluster()
  cluster.index = physicalName('x', 'forms', definitionOf('forms', true).version - 1, 1)
  await expect(cluster.read()).rejects.toMatchObject({ reason: 'older-mapping' })
  expect(cluster.asked).toEqual([])
  cluster.index = physicalName('x', 'forms', definitionOf('forms', true).version + 1, 1)
  expect(await cluster.read()).toBe('_only_nodes:a')
})

test('an API with answers does not search an index without them; an API without answers searches both', async () => {
  const cluster = new Cluster()
  const ask = (hasAnswers: boolean) => {
    cluster.client = cluster.startProcess(hasAnswers)
    return cluster.read({ ...search(), shard: { type: 'submissions', teamId: team, alias: 'x-submissions' } })
  }
  cluster.index = physicalName('x', 'submissions', definitionOf('submissions', false).version, 1)
  await expect(ask(true)).rejects.toMatchObject({ reason: 'older-mapping' })
  expect(await ask(false)).toBe('_only_nodes:a')
  cluster.index = physicalName('x', 'submissions', definitionOf('submissions', true).version, 1)
  expect([await ask(true), await ask(false)]).toEqual(['_only_nodes:a', '_only_nodes:a'])
})

test('a primary that has moved before the master reports it is looked up again', async () => {
  const cluster = new Cluster()
  cluster.gone.add('a')
  const reading = cluster.read()
  await eventually(() => cluster.asked.length >= 2)
  cluster.primary = { node: 'b' }
  expect(await reading).toContain('_only_nodes:b')
})

test('an index that is removed after its look-up is looked up again', async () => {
  const cluster = new Cluster()
  cluster.successor = physicalName('x', 'forms', definitionOf('forms', true).version, 2)
  expect(await cluster.read()).toBe('_only_nodes:a')
  expect(cluster.asked.at(-1)?.path).toBe(`/${cluster.index}/_search`)
})

test('the primary is looked up before each read, but only once a second if the shard has no other copy', async () => {
  const lookUpsOf = async (cluster: Cluster, elapsedMs: number): Promise<number> => {
    cluster.elapsedMs = elapsedMs
    await cluster.read()
    return cluster.lookUps
  }
  const [cluster, alone] = [new Cluster(), new Cluster()]
  alone.hasReplica = false
  for (const reads of [1, 2, 3]) expect(await lookUpsOf(cluster, 0)).toBe(reads)
  expect([await lookUpsOf(alone, 0), await lookUpsOf(alone, 999), await lookUpsOf(alone, 1_000)]).toEqual([1, 1, 2])
  // What is remembered may serve no more.
  expect(alone.asked.map(({ path }) => path.split('/')[1])).toEqual([alone.index, 'x-forms', alone.index])

  // Another copy may take its place from now on.
  alone.hasReplica = true
  expect([await lookUpsOf(alone, 2_000), await lookUpsOf(alone, 2_000)]).toEqual([3, 4])
})

test('a search that failed because a shard had no copy is repeated at once', async () => {
  const cluster = new Cluster()
  cluster.hasReplica = false
  await cluster.read()
  cluster.primary = { node: 'b' }
  const check = (bytes: Buffer): void => {
    if (!String(bytes).endsWith('b')) throw new ElasticsearchUnavailable('no-copy', '')
  }
  expect(await cluster.read({ ...search(), check })).toBe('_only_nodes:b')
})

test('a new primary is read at once: an answer may be older than the previous one, but not older than its watermark', async () => {
  const cluster = new Cluster()
  await cluster.read()
  cluster.primary = { node: 'b' }
  expect(await cluster.read()).toBe('_only_nodes:b')
  cluster.index = physicalName('x', 'forms', definitionOf('forms', true).version, 2)
  expect(await cluster.read()).toBe('_only_nodes:b')
  expect(cluster.asked.at(-1)?.path).toBe(`/${cluster.index}/_search`)
})
