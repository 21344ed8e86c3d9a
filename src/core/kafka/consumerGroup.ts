import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs, { type Batch, type Consumer, type EachBatchPayload, type Kafka } from 'kafkajs'
import { type Offset, toOffset } from '../model/ids.ts'
import { type FetchedRecord, isPlaceholder, type Undecodable } from './recordBatches.ts'
import { type SourceRecord, sourceRecord, type TopicPartition } from './sourceRecord.ts'

/** A member without a heartbeat for this time loses its partitions. */
const sessionTimeoutMs = 10_000
const heartbeatIntervalMs = 1_500
const rebalanceTimeoutMs = 15_000
const metadataMaxAgeMs = 10_000
const fetchWaitMs = 500

export type FetchedBatch = TopicPartition & {
  readonly position: Offset
  /** In offset order. A record counts as consumed once the iterator is past it: after a break at offset 7, the next batch begins at 7. */
  readonly records: Iterable<SourceRecord>
  /** The high watermark if compaction has removed records of this batch: later records of their keys are below it. */
  readonly gapBelow: bigint | undefined
  /** When the latest control record, or record of an aborted transaction, was appended (epoch ms); undefined without one. */
  readonly skippedAtMs: number | undefined
  readonly undecodable: Undecodable | undefined
  isReading(): boolean
  /** Resolves early when the member stops; rejects at a rebalance. Sends a heartbeat, so that the member keeps its partitions. */
  wait(forMs: number): Promise<void>
}

export type GroupOptions = {
  readonly groupId: string
  readonly topics: readonly string[]
  /** Called when a rebalance begins. */
  onRevoked(): void
  /** Called with every new assignment, which stays paused until `readFrom` names its offsets. */
  onAssigned(partitions: readonly TopicPartition[]): Promise<void>
  /** One batch at a time; resolves with whether all its records were consumed. */
  onBatch(batch: FetchedBatch): Promise<boolean>
  /** Called when a batch, perhaps without records, is consumed: the partition has no more records from `from` to `lastOffset`. */
  onBatchEnd(partition: TopicPartition, from: bigint, lastOffset: Offset): void
}

/** `position`: the offset of the next record to read. */
export type PartitionCommit = TopicPartition & { readonly position: Offset; readonly metadata: string }

export interface GroupMember {
  /** Joins and reads until `signal` aborts, then keeps the partitions until `leave`, for the last commits. Rejects when the member or a callback fails. */
  readonly run: (signal: AbortSignal) => Promise<void>
  readonly readFrom: (partitions: readonly (TopicPartition & { readonly nextOffset: bigint })[]) => void
  readonly pause: (partitions: readonly TopicPartition[]) => void
  readonly resume: (partitions: readonly TopicPartition[]) => void
  /**
   * After a rebalance the coordinator rejects the commit, with one exception:
   * 1. KafkaJS loses the connection while it commits offset 80.
   * 2. Another member commits 90 to the same partition.
   * 3. KafkaJS rejoins, and its repeated commit of 80 is accepted. Records 80 to 89 are read again, which changes nothing.
   */
  readonly commit: (commits: readonly PartitionCommit[]) => Promise<void>
  readonly leave: () => Promise<void>
}

export function groupMember(kafka: Kafka, options: GroupOptions): GroupMember {
  const { groupId, topics } = options
  const consumer = kafka.consumer({
    groupId,
    sessionTimeout: sessionTimeoutMs,
    heartbeatInterval: heartbeatIntervalMs,
    rebalanceTimeout: rebalanceTimeoutMs,
    metadataMaxAge: metadataMaxAgeMs,
    maxWaitTimeInMs: fetchWaitMs,
    allowAutoTopicCreation: false,
    retry: { restartOnFailure: async () => false },
  })
  const ended = Promise.withResolvers<void>()
  ended.promise.catch(() => undefined)
  subscribeToEvents(consumer, options, ended.reject)
  let acceptedCommits = 0
  consumer.on(consumer.events.COMMIT_OFFSETS, () => {
    acceptedCommits++
  })
  return {
    run: async (signal) => {
      try {
        await consumer.connect()
        await consumer.subscribe({ topics: [...topics], fromBeginning: true })
        const eachBatch = (payload: EachBatchPayload): Promise<void> => deliverBatch(options, payload, signal)
        await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch })
        signal.addEventListener('abort', () => ended.resolve(), { once: true })
        if (!signal.aborted) await ended.promise
      } catch (error) {
        await consumer.disconnect().catch(() => undefined)
        throw error
      }
    },
    readFrom: (partitions) => {
      for (const { topic, partition, nextOffset } of partitions)
        consumer.seek({ topic, partition, offset: String(nextOffset) })
      consumer.resume(forKafkaJs(partitions))
    },
    pause: (partitions) => unlessCrashed(() => consumer.pause(forKafkaJs(partitions))),
    resume: (partitions) => unlessCrashed(() => consumer.resume(forKafkaJs(partitions))),
    commit: async (commits) => {
      const commitsBefore = acceptedCommits
      await consumer.commitOffsets(commits.map(({ position, ...commit }) => ({ ...commit, offset: String(position) })))
      // While KafkaJS stops, `commitOffsets` resolves without having committed.
      if (acceptedCommits === commitsBefore) throw new Error('nothing was committed: the member stops')
    },
    leave: () => consumer.disconnect(),
  }
}

/**
 * Ignores that the member has crashed:
 * 1. No broker answers a fetch. KafkaJS ends the member, and needs some milliseconds to disconnect.
 * 2. Meanwhile the process stops, and pauses the partitions. KafkaJS throws, because it has no member.
 * 3. KafkaJS emits CRASH, and `run` rejects.
 */
function unlessCrashed(change: () => void): void {
  try {
    change()
  } catch (error) {
    if (!(error instanceof kafkajs.KafkaJSNonRetriableError)) throw error
  }
}

function subscribeToEvents(consumer: Consumer, options: GroupOptions, onFailure: (error: unknown) => void): void {
  const { CRASH, REBALANCING, GROUP_JOIN, START_BATCH_PROCESS } = consumer.events
  consumer.on(CRASH, ({ payload }) => onFailure(payload.error))
  consumer.on(REBALANCING, options.onRevoked)
  consumer.on(GROUP_JOIN, ({ payload }) => {
    const partitions = partitionsIn(payload.memberAssignment)
    consumer.pause(forKafkaJs(partitions))
    options.onAssigned(partitions).catch(onFailure)
  })
  consumer.on(START_BATCH_PROCESS, ({ payload }) => {
    // KafkaJS does not call eachBatch for an empty batch.
    if (payload.batchSize > 0) return
    try {
      options.onBatchEnd(payload, toOffset(payload.firstOffset), toOffset(payload.lastOffset))
    } catch (error) {
      onFailure(error)
    }
  })
}

type DecodedBatch = Omit<Batch, 'messages'> & {
  readonly fetchedOffset: string
  readonly messages: readonly FetchedRecord[]
}

async function deliverBatch(options: GroupOptions, payload: EachBatchPayload, signal: AbortSignal) {
  const { resolveOffset, heartbeat, isRunning } = payload
  const batch = payload.batch as unknown as DecodedBatch
  const { topic, partition } = batch
  const last = batch.messages.at(-1)
  try {
    const isConsumed = await options.onBatch({
      topic,
      partition,
      position: toOffset(batch.fetchedOffset),
      records: recordsOf(batch, resolveOffset),
      gapBelow: batch.messages.some(({ isGap }) => isGap) ? BigInt(batch.highWatermark) : undefined,
      skippedAtMs: skippedAtMs(batch.messages),
      undecodable: last?.undecodable,
      isReading: () => isRunning() && !signal.aborted,
      wait: async (forMs) => {
        await sleep(forMs, undefined, { signal }).catch(() => undefined)
        await heartbeat()
      },
    })
    if (!isConsumed) return
    const lastRecord = batch.messages.findLast((message) => !isPlaceholder(message))
    const from = lastRecord === undefined ? BigInt(batch.fetchedOffset) : BigInt(lastRecord.offset) + 1n
    options.onBatchEnd({ topic, partition }, from, toOffset(batch.lastOffset()))
    resolveOffset(batch.lastOffset())
    await heartbeat()
  } catch (error) {
    // Otherwise KafkaJS would call eachBatch again.
    throw error instanceof kafkajs.KafkaJSError ? error : new kafkajs.KafkaJSNonRetriableError(error as Error)
  }
}

/** Yields the records before an undecodable batch. `resolveOffset` makes KafkaJS continue after a finished record. */
function* recordsOf(
  { topic, partition, messages }: DecodedBatch,
  resolveOffset: EachBatchPayload['resolveOffset'],
): Generator<SourceRecord> {
  for (const message of messages) {
    if (message.undecodable !== undefined) return
    if (!isPlaceholder(message)) yield sourceRecord(topic, partition, message)
    resolveOffset(message.offset)
  }
}

function skippedAtMs(messages: readonly FetchedRecord[]): number | undefined {
  const timesMs = messages.filter(({ isSkipped }) => isSkipped).map(({ timestamp }) => Number(timestamp))
  return timesMs.length === 0 ? undefined : timesMs.reduce((latest, timeMs) => Math.max(latest, timeMs), 0)
}

export const partitionsIn = (assignment: Readonly<Record<string, readonly number[]>>): TopicPartition[] =>
  Object.entries(assignment).flatMap(([topic, partitions]) => partitions.map((partition) => ({ topic, partition })))

const forKafkaJs = (partitions: readonly TopicPartition[]): { topic: string; partitions: number[] }[] =>
  partitions.map(({ topic, partition }) => ({ topic, partitions: [partition] }))
