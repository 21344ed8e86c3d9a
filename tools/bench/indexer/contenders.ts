import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from '@elastic/elasticsearch'
import { createGeneration } from '../../../indexer/generations/generations.ts'
import { aliasOf } from '../../../src/core/stores/indices.ts'
import type { Command } from '../../engines/supervisedProgram.ts'
import type { Contender } from '../rounds.ts'
import type { Stage } from '../stage.ts'
import { type Body, bodiesOf, ceilingGeneration, ceilingPrefix, recordsIn } from './bodies.ts'
import { type Feed, topicOf } from './feed.ts'
import type { Built } from './goPipeline.ts'
import { deleteIndices, type Load, load } from './load.ts'
import { nodeCommand, type Program, startProgram } from './program.ts'
import type { Size } from './size.ts'

/** What contenders are run with. */
export type Running = { readonly stage: Stage; readonly client: Client; readonly feed: Feed; readonly size: Size }

export const names = {
  ceiling: 'ready-made bulk',
  indexer: 'indexer',
  eachMessage: 'KafkaJS eachMessage, index',
  eachBatch: 'KafkaJS eachBatch, helpers.bulk',
  go: 'franz-go, BulkIndexer',
} as const

const requestTimeout = 30_000
/** As Elasticsearch is asked to store a document that is only ever fetched: the best case. */
const peerIndex = {
  settings: { number_of_shards: 1, auto_expand_replicas: '0-1', refresh_interval: '-1' },
  mappings: {
    dynamic: false,
    _routing: { required: true },
    properties: {
      id: { type: 'keyword' },
      formId: { type: 'keyword' },
      result: { properties: { status: { type: 'keyword' } } },
    },
  },
} as const

/** Everyone that brings the records from Kafka, and the ceiling with so many requests at once; the warm-up is of fewer records. */
export function contendersOf(running: Running, go: Built, requestsAtOnce: number): Contender<Load>[] {
  const { records, fewestRecords, rounds } = running.size
  const sizeIn = (round: number): number => (round < rounds.warmUps ? fewestRecords : records)
  const peer = (name: string, prefix: string, command: Pick<Command, 'command' | 'args'>): Contender<Load> => ({
    name,
    run: (round) => runPeer(running, `${prefix}-${round}`, command, sizeIn(round)),
  })
  return [
    { name: names.ceiling, run: (round) => runCeiling(running, sizeIn(round), requestsAtOnce) },
    { name: names.indexer, run: (round) => runIndexer(running, `indexer-${round}`, sizeIn(round), {}) },
    {
      name: names.eachMessage,
      run: (round) => runPeer(running, `each-message-${round}`, nodeCommand('peers/eachMessage.ts'), fewestRecords),
    },
    peer(names.eachBatch, 'each-batch', nodeCommand('peers/eachBatch.ts')),
    ...('program' in go ? [peer(names.go, 'go', { command: go.program, args: [] })] : []),
  ]
}

/** The project's own indexer into empty indices, with settings other than the usual ones where `more` names them. */
export async function runIndexer(
  { stage, client }: Running,
  name: string,
  records: number,
  more: Readonly<Record<string, string>>,
): Promise<Load> {
  const environment = { INDEX_PREFIX: name, CONSUMER_GROUP: name, TOPIC_SUBMISSIONS: topicOf(records), ...more }
  const start = async (): Promise<Program> => {
    const indexer = await stage.start('indexer', environment, join(stage.logsFolder, name))
    // Its end aborts the stage.
    return { ...indexer, expectRunning: async () => undefined }
  }
  const targets = [aliasOf(name, 'submissions'), aliasOf(name, 'submission-details')]
  return await cleanedUp(stage, client, name, () => load(stage, client, { records, targets, start }))
}

/** At least so many records' documents, ready-made, with so many requests at once. */
export async function runCeiling(
  { stage, client, feed }: Running,
  records: number,
  requestsAtOnce: number,
): Promise<Load> {
  const bodies = bodiesOf(feed.bodies, records)
  const shards = { INDEX_PREFIX: ceilingPrefix, INDEX_SHARDS: stage.config.INDEX_SHARDS }
  return await cleanedUp(stage, client, ceilingPrefix, async () => {
    const options = { signal: stage.signal, requestTimeout }
    const { indices } = await createGeneration(client, shards, ceilingGeneration, options)
    const targets = [indices.submissions, indices['submission-details']]
    const list = await listBodies(stage, bodies)
    const command = nodeCommand('push.ts', [
      stage.urls.ELASTICSEARCH_URL,
      targets.join(','),
      String(requestsAtOnce),
      list,
    ])
    const start = (): Promise<Program> => startProgram(stage, 'ceiling', command, {})
    return await load(stage, client, { records: recordsIn(bodies), targets, start })
  })
}

async function listBodies({ folder }: Stage, bodies: readonly Body[]): Promise<string> {
  const path = join(folder, 'data', 'bodies', 'list.txt')
  await writeFile(path, bodies.map((body) => body.path).join('\n'))
  return path
}

async function runPeer(
  { stage, client }: Running,
  name: string,
  command: Pick<Command, 'command' | 'args'>,
  records: number,
): Promise<Load> {
  const environment = { TOPIC: topicOf(records), CONSUMER_GROUP: name, INDEX: name, RECORDS: String(records) }
  return await cleanedUp(stage, client, name, async () => {
    await client.indices.create({ index: name, ...peerIndex }, { signal: stage.signal, requestTimeout })
    const start = (): Promise<Program> => startProgram(stage, name, command, environment)
    return await load(stage, client, { records, targets: [name], start })
  })
}

async function cleanedUp<T>(stage: Stage, client: Client, prefix: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } finally {
    if (!stage.signal.aborted) await deleteIndices(client, prefix, stage)
  }
}
