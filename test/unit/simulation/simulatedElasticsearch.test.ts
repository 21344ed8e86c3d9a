import { encodeBulk, sendBulk } from '../../../indexer/bulk/bulkApi.ts'
import { submissionWrites } from '../../../indexer/convertRecord.ts'
import { type Generation, Generations } from '../../../indexer/generations/generations.ts'
import { refreshEveryCopy } from '../../../indexer/refreshEveryCopy.ts'
import type { TeamId } from '../../../src/core/model/ids.ts'
import type { Instant } from '../../../src/core/model/instant.ts'
import { aliasOf } from '../../../src/core/stores/indices.ts'
import {
  type Clients,
  SimulatedElasticsearch,
  simulatedClients,
} from '../../simulation/engines/elasticsearch/simulatedElasticsearch.ts'
import { localHost, localNetwork, type Network } from '../../simulation/network.ts'
import { seeded } from '../../support/random.ts'
import { submissionRecord } from '../../support/replicaRecords.ts'

const prefix = 'tidemark'
const team = 'team-1' as TeamId
const { signal } = new AbortController()
const request = { signal, requestTimeout: 1_000 }
const instant = '2026-11-20T12:00:00.000Z' as Instant

let simulated: SimulatedElasticsearch
let clients: Clients
let generation: Generation
/** What happens between two steps of the engine. */
let onPause: (what: string) => unknown

beforeEach(async () => {
  onPause = () => undefined
  simulated = new SimulatedElasticsearch({
    ...localHost(seeded(1).next),
    pause: async (what) => void (await onPause(what)),
  })
  clients = simulatedClients(simulated, localNetwork)
  const generations = new Generations(clients.elasticsearch, { INDEX_PREFIX: prefix, INDEX_SHARDS: 1 }, request)
  generation = await generations.create(1)
  await generations.serve(generation)
})

const write = async (): Promise<void> => {
  const documents = submissionWrites(submissionRecord(team, 'a', 1), instant)
  const body = encodeBulk(generation.indices, documents)
  await sendBulk(clients.elasticsearch, body, documents, { requestTimeout: 1_000, signal })
}
const refresh = (): Promise<void> => refreshEveryCopy(clients.elasticsearch, Object.values(generation.indices), request)
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

test('a refresh that missed a copy counts only once the master has noticed that it is away', async () => {
  await write()
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
  await write()
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
