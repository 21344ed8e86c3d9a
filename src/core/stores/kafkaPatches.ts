import { createRequire } from 'node:module'
import {
  type AbortedTransaction,
  decodePartition,
  type FetchedRecord,
  undecodableRecord,
  withoutAborted,
} from './recordBatches.ts'

const load = createRequire(import.meta.url)

type PartitionData = {
  readonly errorCode: number
  readonly abortedTransactions?: readonly AbortedTransaction[] | null
  readonly messages: readonly FetchedRecord[]
}
type FetchAnswer = {
  readonly responses: readonly { readonly topicName: string; readonly partitions: readonly PartitionData[] }[]
}
type Exchange = { readonly response: { decode(bytes: Buffer): Promise<FetchAnswer> } }

/**
 * Replaces how KafkaJS 2.2.4 decodes what it fetches. Its own decoder knows one codec of four, checks no checksum, fails the
 * whole fetch for one batch of one partition, asks for ever for offsets that compaction emptied, and hands out records of an
 * aborted transaction when a fetch begins inside several. KafkaJS loads it when it first fetches; this has to come before.
 */
export function replaceFetchDecoder(): void {
  const path = load.resolve('kafkajs/src/protocol/requests/fetch/v4/decodeMessages')
  load(path)
  const module = load.cache[path]
  if (module === undefined) throw new Error('the fetch decoder of KafkaJS is not where it was')
  module.exports = decodePartition
  wrapRequests<Exchange>('fetch', (ask) => (parts) => {
    const exchange = ask(parts)
    const decode = async (bytes: Buffer): Promise<FetchAnswer> => {
      const answer = await exchange.response.decode(bytes)
      const responses = answer.responses.map((topic) => ({ ...topic, partitions: topic.partitions.map(filtered) }))
      return { ...answer, responses }
    }
    return { ...exchange, response: { ...exchange.response, decode } }
  })
}

/** CORRUPT_MESSAGE: the broker itself cannot read its log. KafkaJS would fail the fetch of every partition. */
const corruptMessage = 2

function filtered(partition: PartitionData): PartitionData {
  const { errorCode, messages, abortedTransactions } = partition
  if (errorCode === corruptMessage) {
    const damaged = undecodableRecord('the broker finds its log damaged (CORRUPT_MESSAGE)')
    return { ...partition, errorCode: 0, messages: [damaged] }
  }
  return { ...partition, messages: withoutAborted(messages, abortedTransactions ?? []), abortedTransactions: [] }
}

type Ask<Answer> = (parts: { readonly isolationLevel?: number }) => Answer

const readUncommitted = 0

/**
 * Lets an admin client of KafkaJS 2.2.4 tell the end of a partition. It asks for the last stable offset instead, which an open
 * transaction holds back: records behind it are appended and not yet readable, and a reader that has reached it would take
 * itself for caught up. Consumers name the level that they read at, and are not changed.
 */
export function tellRealEnds(): void {
  wrapRequests(
    'listOffsets',
    (ask) => (parts) => ask({ ...parts, isolationLevel: parts.isolationLevel ?? readUncommitted }),
  )
}

function wrapRequests<Answer>(name: string, wrap: (ask: Ask<Answer>) => Ask<Answer>): void {
  const requests = load(`kafkajs/src/protocol/requests/${name}`) as {
    protocol?: (wanted: { version: number }) => Ask<Answer> | undefined
  }
  const { protocol } = requests
  if (protocol === undefined) throw new Error(`the ${name} requests of KafkaJS are not where they were`)
  requests.protocol = (wanted) => {
    const ask = protocol(wanted)
    return ask && wrap(ask)
  }
}
