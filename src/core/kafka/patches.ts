import { createRequire } from 'node:module'
import kafkajs from 'kafkajs'
// Loaded here, so that `replaceModule` can replace them.
import 'kafkajs/src/protocol/recordBatch/record/v0/index.js'
import 'kafkajs/src/protocol/requests/fetch/v4/decodeMessages.js'
import { decodePartition, undecodableRecord, withoutAborted, withSkipped } from './recordBatches.ts'
import { varintOf } from './recordBytes.ts'
import { RecordHeaders } from './recordHeaders.ts'
import { partitionName } from './sourceRecord.ts'

/* Fixes for bugs of KafkaJS 2.2.4, for all its clients in this process, each with the test that shows the bug. */

const load = createRequire(import.meta.url)

type BuildExchange<Parts, Exchange> = (parts: Parts) => Exchange

type KafkaJsDecoder = {
  readInt32(): number
  readBytes(length: number): Buffer
  canReadBytes(length: number): boolean
}
/** Record batches, not decoded. */
type PartitionAnswer = {
  readonly partition: number
  readonly errorCode: number
  readonly abortedTransactions?: Parameters<typeof withoutAborted>[1] | null
  readonly messages: Buffer
}
type FetchAnswer = {
  readonly responses: readonly { readonly topicName: string; readonly partitions: readonly PartitionAnswer[] }[]
}
type FetchRequest = {
  readonly topics: readonly {
    readonly topic: string
    readonly partitions: readonly { readonly partition: number; readonly fetchOffset: string }[]
  }[]
}
type FetchExchange<Answer> = { readonly response: { decode(bytes: Buffer): Promise<Answer> } }

/**
 * Replaces the fetch decoder of KafkaJS, which has these bugs (`recordBatches.test.ts`). Call this before the first fetch.
 * - It supports one of four codecs, and verifies no checksum.
 * - It takes minutes for some thousands of headers.
 * - One damaged batch fails the whole fetch.
 * - It fetches again and again the offsets that compaction has removed.
 * - It returns aborted records if a fetch begins inside several transactions.
 */
export function replaceFetchDecoder(): void {
  // Only `decodeAnswer` has the requested offset, from which records are decoded.
  replaceModule('protocol/requests/fetch/v4/decodeMessages', () => async (answer: KafkaJsDecoder): Promise<Buffer> => {
    const size = answer.readInt32()
    return size > 0 && answer.canReadBytes(size) ? answer.readBytes(size) : Buffer.alloc(0)
  })
  wrapRequests<FetchRequest, FetchExchange<unknown>>('fetch', (build) => (parts) => {
    const exchange = build(parts) as FetchExchange<FetchAnswer>
    const decode = async (bytes: Buffer) => decodeAnswer(await exchange.response.decode(bytes), parts)
    return { ...exchange, response: { ...exchange.response, decode } }
  })
}

async function decodeAnswer(answer: FetchAnswer, { topics }: FetchRequest) {
  const requested = new Map<string, bigint>()
  for (const { topic, partitions } of topics)
    for (const { partition, fetchOffset } of partitions)
      requested.set(partitionName({ topic, partition }), BigInt(fetchOffset))
  const responses: { readonly topicName: string; readonly partitions: object[] }[] = []
  for (const { topicName, partitions } of answer.responses) {
    const decoded: object[] = []
    for (const partition of partitions) {
      const from = requested.get(partitionName({ topic: topicName, partition: partition.partition }))
      decoded.push(await decodeFetched(partition, from))
    }
    responses.push({ topicName, partitions: decoded })
  }
  return { ...answer, responses }
}

/** KafkaJS would fail the fetch of every partition; here this one gets an undecodable placeholder. */
const corruptMessage = 2

async function decodeFetched(partition: PartitionAnswer, from: bigint | undefined) {
  const { errorCode, messages, abortedTransactions } = partition
  if (errorCode === corruptMessage) {
    const damaged = undecodableRecord('the broker finds its log damaged (CORRUPT_MESSAGE)')
    return { ...partition, errorCode: 0, messages: [damaged] }
  }
  const records = await decodePartition(messages, from)
  return {
    ...partition,
    messages: withSkipped(withoutAborted(records, abortedTransactions ?? [])),
    abortedTransactions: [],
  }
}

type KafkaJsEncoder = { writeBuffer(bytes: Buffer): KafkaJsEncoder; readonly buffer: Buffer }
type WrittenRecord = { readonly headers?: unknown }

/** Makes KafkaJS write `RecordHeaders` byte for byte. It would reorder headers, fail at null, and omit `__proto__` (`sink.test.ts`). */
export function keepHeaders(): void {
  const Encoder = load('kafkajs/src/protocol/encoder') as new () => KafkaJsEncoder
  type Encode = (record: WrittenRecord) => KafkaJsEncoder
  replaceModule(
    'protocol/recordBatch/record/v0',
    (encode: Encode): Encode =>
      (record) => {
        const { headers } = record
        if (!(headers instanceof RecordHeaders)) return encode(record)
        const bare = encode({ ...record, headers: {} }).buffer
        // A record begins with its length, a varint: only its last byte is below 0x80. Without headers, it ends with their number, a zero.
        const lengthEndsAt = bare.findIndex((byte) => byte < 0x80) + 1
        const body = bare.subarray(lengthEndsAt, -1)
        const count = varintOf(headers.count)
        const length = varintOf(body.length + count.length + headers.bytes.length)
        return new Encoder().writeBuffer(Buffer.concat([length, body, count, headers.bytes]))
      },
  )
}

/** This file must import the module: OpenTelemetry hooks `require`, and would return the old exports from its cache. */
function replaceModule<Exports>(name: string, replace: (exports: Exports) => Exports): void {
  const path = load.resolve(`kafkajs/src/${name}`)
  const module = load.cache[path]
  if (module === undefined) throw new Error(`this release of KafkaJS has no ${name}`)
  module.exports = replace(module.exports)
  if (load(path) !== module.exports) throw new Error(`${name} of KafkaJS was loaded too early to be replaced`)
}

/**
 * Makes the admin client return log end offsets, not last stable offsets: these stop at an open transaction, so a consumer could seem caught up
 * (`simulatedKafka.test.ts`). Consumers already name an isolation level.
 */
export function fetchLogEndOffsets(): void {
  const readUncommitted = { isolationLevel: 0 }
  wrapRequests<{ readonly isolationLevel?: number }, unknown>(
    'listOffsets',
    (build) => (parts) => build(parts.isolationLevel === undefined ? { ...parts, ...readUncommitted } : parts),
  )
}

type Connection = { readonly broker: string; readonly socket: { destroy(error: Error): void } | undefined }

/**
 * Closes a connection on which a request timed out. KafkaJS would send to a frozen broker for five minutes, and try no second broker at its start
 * (`silentBroker.test.ts`).
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
 * Emits REBALANCING at every rejoin, so that the indexer stops publishing its former partitions. KafkaJS does not if the coordinator has forgotten the member,
 * or partitions were added. After an error between JoinGroup and SyncGroup, KafkaJS would go on with the former assignment (`consumerGroup.test.ts`).
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
 * Fails the consumer when its offset is out of range; the next one reads the committed offset again. KafkaJS would overwrite the commit with the partition's
 * first offset, even if only a former leader reports the error (`simulatedKafka.test.ts`).
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

type KafkaJsBatch = { readonly fetchedOffset: string; isEmpty(): boolean }

/** Makes the events of a batch without records name its fetched offset (`consumerGroup.test.ts`). */
export function reportFetchedOffsets(): void {
  const { prototype } = load('kafkajs/src/consumer/batch') as {
    prototype: { firstOffset(this: KafkaJsBatch): string | null }
  }
  const { firstOffset } = prototype
  if (firstOffset === undefined) throw new Error('this release of KafkaJS has no Batch.firstOffset')
  prototype.firstOffset = function () {
    return this.isEmpty() ? this.fetchedOffset : firstOffset.call(this)
  }
}

function wrapRequests<Parts, Exchange>(
  name: string,
  wrap: (build: BuildExchange<Parts, Exchange>) => BuildExchange<Parts, Exchange>,
): void {
  const requests = load(`kafkajs/src/protocol/requests/${name}`) as {
    protocol?: (api: { version: number }) => BuildExchange<Parts, Exchange> | undefined
  }
  const { protocol } = requests
  if (protocol === undefined) throw new Error(`this release of KafkaJS has no ${name} requests at the known path`)
  requests.protocol = (api) => {
    const build = protocol(api)
    return build && wrap(build)
  }
}
