import { errors } from '@elastic/elasticsearch'
import { encodeBulk, sendBulk } from '../../../indexer/bulk/bulkApi.ts'
import { type Generation, Generations } from '../../../indexer/generations/generations.ts'
import { refreshEveryCopy } from '../../../indexer/refreshEveryCopy.ts'
import { createIndexReader, type IndexReader } from '../../../src/api/search/indexReader.ts'
import { openListSnapshot } from '../../../src/api/search/listSnapshot.ts'
import { openSearchClient } from '../../../src/api/search/searchClient.ts'
import { searchPage } from '../../../src/api/search/searchPage.ts'
import type { TeamId } from '../../../src/core/model/ids.ts'
import type { Instant } from '../../../src/core/model/instant.ts'
import { aliasOf } from '../../../src/core/stores/indices.ts'
import { type DocumentWrite, submissionWrites } from '../../../src/core/stores/renderDocuments.ts'
import {
  type Clients,
  SimulatedElasticsearch,
  simulatedClients,
} from '../../simulation/engines/elasticsearch/simulatedElasticsearch.ts'
import { localHost, localNetwork, type Network, NetworkFailure } from '../../simulation/network.ts'
import { seeded } from '../../support/random.ts'
import { submissionRecord } from '../../support/replicaRecords.ts'

const prefix = 'tidemark'
const team = 'team-1' as TeamId
const { signal } = new AbortController()
const request = { signal, requestTimeout: 1_000 }
const instant = '2026-11-20T12:00:00.000Z' as Instant

let simulated: SimulatedElasticsearch
let clients: Clients
let reader: IndexReader
let generation: Generation
/** What happens between two steps of the engine. */
let onPause: (what: string) => unknown
/** Ends the keep-alive of everything. */
let expire: (() => void)[]

beforeEach(async () => {
  onPause = () => undefined
  expire = []
  simulated = new SimulatedElasticsearch({
    ...localHost(seeded(1).next),
    pause: async (what) => void (await onPause(what)),
    after: (_delayMs, _what, act) => {
      expire.push(act)
      return () => expire.splice(expire.indexOf(act), 1)
    },
  })
  clients = simulatedClients(simulated, localNetwork)
  reader = createIndexReader(openSearchClient(clients.bytes, prefix), 100)
  const generations = new Generations(clients.elasticsearch, { INDEX_PREFIX: prefix, INDEX_SHARDS: 1 }, request)
  generation = await generations.create(1)
  await generations.serve(generation)
})

const submission = (id: string): DocumentWrite[] => submissionWrites(submissionRecord(team, id, 1), instant)
const write = async (documents: readonly DocumentWrite[], by = clients): Promise<readonly string[]> => {
  const body = encodeBulk(generation.indices, documents)
  return (await sendBulk(by.elasticsearch, body, documents, { requestTimeout: 1_000, signal })).map(({ kind }) => kind)
}
const refresh = (): Promise<void> => refreshEveryCopy(clients.elasticsearch, Object.values(generation.indices), request)
const list = () => ({ ...reader, type: 'submissions', teamId: team, version: null }) as const
const total = async (): Promise<number> => (await searchPage(list(), [[]], { page: 1, limit: 10 }, false, signal)).total
/** How many rows each of many readers finds, each by a preference of its own. */
const totalsOfCopies = async (): Promise<ReadonlySet<number>> => {
  const counts = Array.from({ length: 20 }, async (_, at) => {
    const { hits } = await clients.elasticsearch.search({
      ...{ index: aliasOf(prefix, 'submissions'), preference: `reader-${at}`, size: 0, track_total_hits: true },
    })
    return (hits.total as { value: number }).value
  })
  return new Set(await Promise.all(counts))
}

test('copies are refreshed one after the other: meanwhile readers of one see what those of the other do not', async () => {
  await write(submission('a'))
  const seen: ReadonlySet<number>[] = []
  onPause = async (what) => {
    if (what === 'refresh of a copy') seen.push(await totalsOfCopies())
  }
  await refresh()
  expect(seen).toContainEqual(new Set([0, 1]))
  expect(await totalsOfCopies()).toEqual(new Set([1]))
})

test('a refresh that missed a copy counts only once the master has noticed that it is away', async () => {
  await write(submission('a'))
  simulated.loseNode(1)
  await expect(refresh()).rejects.toThrow('only 4 of 8 active copies were refreshed')
  await simulated.returnNode(1)
  expect(await totalsOfCopies()).toEqual(new Set([0, 1]))
  simulated.loseNode(1)
  simulated.noticeLostNodes()
  await refresh()
  expect(await totalsOfCopies()).toEqual(new Set([1]))
})

test('a copy that is lost once it was refreshed does not make up for one that was not', async () => {
  await write(submission('a'))
  let pauses = 0
  onPause = (what) => {
    if (what === 'refresh of a copy' && ++pauses === 4) simulated.loseNode(0)
  }
  const noticing: Network = {
    call: (engine, what, work, options) => {
      if (what.includes('_cluster/health')) simulated.noticeLostNodes()
      return localNetwork.call(engine, what, work, options)
    },
  }
  const { elasticsearch } = simulatedClients(simulated, noticing)
  await refreshEveryCopy(elasticsearch, Object.values(generation.indices), request)
  expect(await totalsOfCopies()).toEqual(new Set([1]))
})

test('a copy that missed a write is recovered, and finds everything when it is back', async () => {
  simulated.loseNode(0)
  expect(await write(submission('a'))).toEqual(['written', 'written'])
  await simulated.returnNode(0)
  expect(await totalsOfCopies()).toEqual(new Set([0, 1]))
  await refresh()
  expect(await totalsOfCopies()).toEqual(new Set([1]))
  const index = Object.values(generation.indices)
  await expect(clients.elasticsearch.cluster.health({ index })).resolves.toMatchObject({ status: 'green' })
})

test('without any copy nothing is written or found, and nothing is lost', async () => {
  await write(submission('a'))
  await refresh()
  simulated.loseNode(1)
  await write(submission('b'))
  simulated.loseNode(0)
  expect(await write(submission('c'))).toEqual(['retry', 'retry'])
  await expect(total()).rejects.toThrow('refused')
  await expect(refresh()).rejects.toThrow('only 0 shards were refreshed')
  // The copy that missed a write cannot replace the one that has it.
  await simulated.returnNode(1)
  await expect(total()).rejects.toThrow('refused')
  await simulated.returnNode(0)
  expect(await total()).toBe(2)
})

test('an answer may be lost when the work is done', async () => {
  const failing = (kind: NetworkFailure['kind']): Clients => {
    const network: Network = {
      call: async (_engine, what, work) => {
        await work()
        throw new NetworkFailure(kind, what)
      },
    }
    return simulatedClients(simulated, network)
  }
  await expect(write(submission('a'), failing('unreachable'))).rejects.toThrow(errors.ConnectionError)
  await expect(write(submission('b'), failing('timeout'))).rejects.toThrow(errors.TimeoutError)
  await refresh()
  expect(await total()).toBe(2)
  const aborted = clients.elasticsearch.count({}, { signal: AbortSignal.abort() })
  await expect(aborted).rejects.toThrow(errors.RequestAbortedError)
})

test('a snapshot ends with its keep-alive, or with the copy that holds it', async () => {
  const open = () => openListSnapshot(list(), 1_000)
  const read = (snapshot: Awaited<ReturnType<typeof open>>) => snapshot.deletions([], 1, signal)
  const first = await open()
  await read(first)
  for (const act of [...expire]) act()
  await expect(read(first)).rejects.toThrow('missing-snapshot')
  const second = await open()
  for (const node of [0, 1]) simulated.loseNode(node)
  await expect(read(second)).rejects.toThrow('refused')
  simulated.noticeLostNodes()
  for (const node of [0, 1]) await simulated.returnNode(node)
  await expect(read(second)).rejects.toThrow('missing-snapshot')
})
