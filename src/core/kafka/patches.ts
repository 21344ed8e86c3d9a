import { createRequire } from 'node:module'
import kafkajs from 'kafkajs'
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
type FetchAnswer = { readonly responses: readonly { readonly partitions: readonly PartitionData[] }[] }
type Exchange = { readonly response: { decode(bytes: Buffer): Promise<FetchAnswer> } }

/**
 * Replaces the fetch decoder of KafkaJS 2.2.4. That decoder knows one codec of four, verifies no checksum, fails the whole fetch
 * because of one batch of one partition, requests offsets that compaction removed for ever, and returns records of an aborted
 * transaction when a fetch begins inside several transactions. Must run before KafkaJS first fetches, which loads the decoder.
 */
export function replaceFetchDecoder(): void {
  const path = load.resolve('kafkajs/src/protocol/requests/fetch/v4/decodeMessages')
  load(path)
  const module = load.cache[path]
  if (module === undefined) throw new Error('the fetch decoder of KafkaJS has moved')
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

/** CORRUPT_MESSAGE: the broker cannot read its own log. KafkaJS would fail the fetch of every partition. */
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
export const readCommitted = 1

/**
 * Makes the admin client of KafkaJS 2.2.4 return the log end offset (high watermark) of a partition. It asks for the last stable
 * offset, which does not pass an open transaction: records behind it are appended and not yet readable, and a reader at that offset
 * would wrongly count as caught up. Consumers name their isolation level and are not affected.
 */
export function fetchLogEndOffsets(): void {
  wrapRequests(
    'listOffsets',
    (ask) => (parts) => ask({ ...parts, isolationLevel: parts.isolationLevel ?? readUncommitted }),
  )
}

type Connection = {
  readonly broker: string
  readonly socket: { destroy(error: Error): void } | undefined
}

/**
 * Closes each connection of KafkaJS 2.2.4 on which a request was not answered in time, as Kafka's own client does. KafkaJS keeps it:
 * a producer goes on sending to a broker that is frozen or cut off until its metadata is five minutes old, and a client that begins
 * with such a broker asks no other one. The error becomes one of the connection, upon which KafkaJS asks another broker who leads.
 */
export function closeUnansweredConnections(): void {
  const { prototype } = load('kafkajs/src/network/connection') as {
    prototype: { send(this: Connection, request: unknown): Promise<unknown> }
  }
  const { send } = prototype
  if (send === undefined) throw new Error('the connections of KafkaJS have moved')
  prototype.send = async function (request) {
    try {
      return await send.call(this, request)
    } catch (error) {
      if (!(error instanceof kafkajs.KafkaJSRequestTimeoutError)) throw error
      this.socket?.destroy(error)
      throw new kafkajs.KafkaJSConnectionError(error.message, { broker: this.broker, code: 'ETIMEDOUT' })
    }
  }
}

type JoiningMember = {
  readonly groupId: string
  readonly memberId: string | null
  readonly instrumentationEmitter: { emit(event: string, details: object): void }
}

/**
 * Makes a consumer of KafkaJS 2.2.4 say that it rebalances whenever it joins its group again, and crash when it does not learn its
 * assignment. KafkaJS says so neither when the coordinator has forgotten the member nor when partitions were added; and after an error
 * between joining and learning the assignment it goes on with the one before, as long as nobody else joins.
 */
export function announceJoining(): void {
  const { prototype } = load('kafkajs/src/consumer/consumerGroup') as {
    prototype: { joinAndSync(this: JoiningMember): Promise<void> }
  }
  const { events } = load('kafkajs/src/consumer/instrumentationEvents') as { events: { REBALANCING: string } }
  const { joinAndSync } = prototype
  if (joinAndSync === undefined) throw new Error('the consumer groups of KafkaJS have moved')
  prototype.joinAndSync = async function () {
    const { groupId, memberId } = this
    this.instrumentationEmitter.emit(events.REBALANCING, { groupId, memberId })
    try {
      await joinAndSync.call(this)
    } catch (error) {
      throw new kafkajs.KafkaJSNonRetriableError(error as Error)
    }
  }
}

function wrapRequests<Answer>(name: string, wrap: (ask: Ask<Answer>) => Ask<Answer>): void {
  const requests = load(`kafkajs/src/protocol/requests/${name}`) as {
    protocol?: (wanted: { version: number }) => Ask<Answer> | undefined
  }
  const { protocol } = requests
  if (protocol === undefined) throw new Error(`the ${name} requests of KafkaJS have moved`)
  requests.protocol = (wanted) => {
    const ask = protocol(wanted)
    return ask && wrap(ask)
  }
}
