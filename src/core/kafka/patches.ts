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

// Faults of KafkaJS 2.2.4, and their repairs.

/**
 * The fetch decoder of KafkaJS knows one codec of four, verifies no checksum, fails the whole fetch because of one batch, requests offsets that
 * compaction removed for ever, and returns records of an aborted transaction where a fetch begins inside several
 * (`recordBatches.test.ts`). To be replaced before the first fetch, which loads it.
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

/** The broker cannot read its own log. KafkaJS would fail the fetch of every partition. */
const corruptMessage = 2

function filtered(partition: PartitionData): PartitionData {
  const { errorCode, messages, abortedTransactions } = partition
  if (errorCode === corruptMessage)
    return {
      ...partition,
      errorCode: 0,
      messages: [undecodableRecord('the broker finds its log damaged (CORRUPT_MESSAGE)')],
    }
  return { ...partition, messages: withoutAborted(messages, abortedTransactions ?? []), abortedTransactions: [] }
}

type Ask<Answer> = (parts: { readonly isolationLevel?: number }) => Answer

/**
 * The admin client of KafkaJS asks for the last stable offset instead of the end of a partition: while a transaction is open, a reader that lags
 * would count as caught up (`simulatedKafka.test.ts`). Consumers name their isolation level.
 */
export function fetchLogEndOffsets(): void {
  const readUncommitted = { isolationLevel: 0 }
  wrapRequests(
    'listOffsets',
    (ask) => (parts) => ask(parts.isolationLevel === undefined ? { ...parts, ...readUncommitted } : parts),
  )
}

type Connection = { readonly broker: string; readonly socket: { destroy(error: Error): void } | undefined }

/**
 * KafkaJS keeps a connection on which a request was not answered in time: a producer sends to a broker that is frozen or cut off until its
 * metadata is five minutes old, and a client that begins with such a broker asks no other (`silentBroker.test.ts`). Closed, as Kafka's
 * own client does; upon an error of the connection, KafkaJS asks another broker who leads.
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
 * A consumer that joins its group again does not say that it rebalances where the coordinator has forgotten it or partitions were added;
 * and after an error between joining and learning its assignment it goes on with the one before (`consumerGroup.test.ts`).
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
