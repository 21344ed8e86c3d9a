import { createRequire } from 'node:module'
import kafkajs from 'kafkajs'
import { decodePartition, type FetchedRecord, undecodableRecord, withoutAborted } from './recordBatches.ts'

const load = createRequire(import.meta.url)

type PartitionData = {
  readonly errorCode: number
  readonly abortedTransactions?: Parameters<typeof withoutAborted>[1] | null
  readonly messages: readonly FetchedRecord[]
}
type FetchAnswer = { readonly responses: readonly { readonly partitions: readonly PartitionData[] }[] }
type Exchange = { readonly response: { decode(bytes: Buffer): Promise<FetchAnswer> } }

// Fixes for bugs of KafkaJS 2.2.4.

/**
 * Replaces the fetch decoder of KafkaJS, which knows one codec of four, verifies no checksum, fails the whole fetch because of one
 * batch, loops on offsets that compaction removed, and returns records of an aborted transaction when a fetch begins inside several
 * (`recordBatches.test.ts`). Call before the first fetch, which loads the decoder.
 */
export function replaceFetchDecoder(): void {
  const path = load.resolve('kafkajs/src/protocol/requests/fetch/v4/decodeMessages')
  load(path)
  const module = load.cache[path]
  if (module === undefined) throw new Error('this release of KafkaJS has no fetch decoder at the known path')
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

/** Error code: the broker's log of a partition is damaged. KafkaJS would fail the fetch of every partition. */
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
 * Makes the admin client of KafkaJS return log end offsets. It returns last stable offsets: while a transaction is open, a consumer that
 * lags would count as caught up (`simulatedKafka.test.ts`). Consumers set an isolation level themselves.
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
 * Closes a connection on which a request timed out, as the Java client does. KafkaJS keeps it: a producer sends to a frozen broker until
 * its metadata is five minutes old, and a client whose first broker is frozen asks no other (`silentBroker.test.ts`). After a connection
 * error, KafkaJS refreshes its metadata from another broker.
 */
export function closeUnansweredConnections(): void {
  const { prototype } = load('kafkajs/src/network/connection') as {
    prototype: { send(this: Connection, request: unknown): Promise<unknown> }
  }
  const { send } = prototype
  if (send === undefined) throw new Error('this release of KafkaJS has no Connection.send')
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
 * Emits REBALANCING at every rejoin: KafkaJS does not when the coordinator has forgotten the member, or partitions were added. Fails
 * the consumer on an error between JoinGroup and SyncGroup: KafkaJS goes on with the former assignment (`consumerGroup.test.ts`).
 */
export function announceJoining(): void {
  const { prototype } = load('kafkajs/src/consumer/consumerGroup') as {
    prototype: { joinAndSync(this: JoiningMember): Promise<void> }
  }
  const { events } = load('kafkajs/src/consumer/instrumentationEvents') as { events: { REBALANCING: string } }
  const { joinAndSync } = prototype
  if (joinAndSync === undefined) throw new Error('this release of KafkaJS has no ConsumerGroup.joinAndSync')
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

/**
 * Fails the consumer when the broker finds its offset out of range, so that the next one asks where to start. KafkaJS replaces what is
 * committed, with its metadata, by the beginning, also when only a former leader has answered (`simulatedKafka.test.ts`).
 */
export function keepCommitsOutOfRange(): void {
  const { prototype } = load('kafkajs/src/consumer/consumerGroup') as {
    prototype: { recoverFromOffsetOutOfRange(error: Error): Promise<void> }
  }
  if (prototype.recoverFromOffsetOutOfRange === undefined)
    throw new Error('this release of KafkaJS has no ConsumerGroup.recoverFromOffsetOutOfRange')
  prototype.recoverFromOffsetOutOfRange = async (error) => {
    throw new kafkajs.KafkaJSNonRetriableError(error)
  }
}

type FetchedBatch = { readonly fetchedOffset: string; isEmpty(): boolean }

/** Makes the events of a batch without records tell from which offset it was fetched: KafkaJS leaves that out (`consumerGroup.test.ts`). */
export function tellFetchedOffsets(): void {
  const { prototype } = load('kafkajs/src/consumer/batch') as {
    prototype: { firstOffset(this: FetchedBatch): string | null }
  }
  const { firstOffset } = prototype
  if (firstOffset === undefined) throw new Error('this release of KafkaJS has no Batch.firstOffset')
  prototype.firstOffset = function () {
    return this.isEmpty() ? this.fetchedOffset : firstOffset.call(this)
  }
}

function wrapRequests<Answer>(name: string, wrap: (ask: Ask<Answer>) => Ask<Answer>): void {
  const requests = load(`kafkajs/src/protocol/requests/${name}`) as {
    protocol?: (wanted: { version: number }) => Ask<Answer> | undefined
  }
  const { protocol } = requests
  if (protocol === undefined) throw new Error(`this release of KafkaJS has no ${name} requests at the known path`)
  requests.protocol = (wanted) => {
    const ask = protocol(wanted)
    return ask && wrap(ask)
  }
}
