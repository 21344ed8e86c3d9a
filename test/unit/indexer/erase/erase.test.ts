import { encodeBulk, sendBulk } from '../../../../indexer/bulk/bulkApi.ts'
import { submissionWrites } from '../../../../indexer/convertRecord.ts'
import type { CommandTools } from '../../../../indexer/engineCommand.ts'
import { erase } from '../../../../indexer/erase/erase.ts'
import { Generations } from '../../../../indexer/generations/generations.ts'
import type { PhysicalIndex } from '../../../../src/core/elasticsearch/indices.ts'
import { documentId, type EntityId, type TeamId } from '../../../../src/core/model/ids.ts'
import { type Instant, toInstant } from '../../../../src/core/model/instant.ts'
import type { Clients } from '../../../simulation/engines/elasticsearch/simulatedElasticsearch.ts'
import { testConfig } from '../../../support/config.ts'
import { connectSimulated } from '../../../support/elasticsearchPair.ts'
import { withMembers } from '../../../support/lifecycle.ts'
import { deletionOf, recordedAt } from '../../../support/replicaRecords.ts'

const config = testConfig({ ELASTICSEARCH_URL: 'http://127.0.0.1:9', REDIS_URL: 'redis://127.0.0.1:9' })
const { signal } = new AbortController()
const request = { signal, requestTimeout: 30_000 }
const [team, submission] = ['acme' as TeamId, 's-1' as EntityId]
const settings: Readonly<Record<string, string>> = {
  ...{ 'cleanup.policy': 'compact', 'max.compaction.lag.ms': '1', 'retention.ms': '1', 'segment.ms': '1' },
  'file.delete.delay.ms': '1',
}
/** By how much a clock may be off (ms). */
const offsetMs = 5_000

let clients: Clients
let generations: Generations
let indices: readonly PhysicalIndex[]
let createdAtMs: number

/** A generation that serves the tombstone of the submission, all of whose segments are without deletions. */
beforeEach(async () => {
  clients = connectSimulated()
  generations = new Generations(clients.elasticsearch, config, request)
  const generation = await generations.create(1)
  await generations.serve(generation)
  const documents = submissionWrites(deletionOf(team, submission), recordedAt(toInstant(Date.now())), true)
  await sendBulk(clients.elasticsearch, encodeBulk(generation.writeAliases, documents), documents, request)
  indices = [generation.indices.submissions, generation.indices['submission-details']]
  const states = await clients.elasticsearch.indices.get({ index: [...indices] })
  createdAtMs = Math.max(...Object.values(states).map(({ settings: of }) => Number(of?.index?.creation_date)))
})
afterEach(() => clients.elasticsearch.close())

/** A snapshot of the two indices, begun at that time (epoch ms). */
const snapshotOf = (name: string, begunMs: number) => ({
  ...{ repository: 'backups', snapshot: name, indices, start_time_in_millis: begunMs },
})

/** What is left in Elasticsearch, as name and detail; `onFlush` happens while the shards are flushed. */
async function leftAfter(
  snapshots: readonly object[],
  cleanSince?: Instant,
  onFlush: () => Promise<unknown> = async () => undefined,
): Promise<string[][]> {
  const shards = { total: 1, successful: 1, failed: 0 }
  const flush = async (): Promise<object> => {
    await onFlush()
    return { _shards: shards }
  }
  const segments = async ({ index }: { index: string }) => ({
    _shards: shards,
    indices: { [index]: { shards: { 0: [{ routing: { node: 'node-0' }, segments: {} }] } } },
  })
  const elasticsearch = withMembers(clients.elasticsearch, {
    indices: withMembers(clients.elasticsearch.indices, { flush, segments }),
    snapshot: { get: async () => ({ snapshots }) },
  })
  const source = {
    offsetRanges: async () => new Map(),
    readTopic: async () => undefined,
    topicSettings: async () => (_topic: string, name: string) => settings[name] ?? '',
  }
  const report = { step: () => undefined, progress: () => undefined, end: () => undefined }
  const tools = { config, elasticsearch, source, report, signal, clock: Date.now } as unknown as CommandTools
  const { places } = await erase(tools, documentId(team, submission), cleanSince)
  return places.filter(({ state }) => state === 'left').map(({ name, detail }) => [name, detail])
}

test('indices that a rebuild makes meanwhile are named, because it may have copied the submission', async () => {
  let isFirst = true
  const left = await leftAfter([], undefined, async () => {
    if (isFirst) await generations.create(2)
    isFirst = false
  })
  const made = indices.map((index) => [index.replace(/1$/, '2'), 'was made meanwhile: run again'])
  expect(left.sort()).toEqual(made.sort())
})

test('a snapshot is clean only if it began after an earlier run of erase by every clock', async () => {
  const cleanMs = createdAtMs + offsetMs + 1
  const begun = [
    snapshotOf('before', cleanMs - 1),
    snapshotOf('doubtful', cleanMs + offsetMs),
    snapshotOf('after', cleanMs + offsetMs + 1),
  ]
  const namesLeft = async (cleanSinceMs: number): Promise<string[]> =>
    (await leftAfter(begun, toInstant(cleanSinceMs))).map(([name = '']) => name.split('/')[1] ?? '')
  expect(await namesLeft(cleanMs)).toEqual(['before', 'doubtful'])
  // A clock may be behind: the indices were perhaps made after the earlier run, from what Kafka still held.
  expect(await namesLeft(cleanMs - 1)).toEqual(['before', 'doubtful', 'after'])
})
