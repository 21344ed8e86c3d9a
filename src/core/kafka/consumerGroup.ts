import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs, { type Batch, type Consumer, type EachBatchPayload, type Kafka } from 'kafkajs'
import { type Offset, toOffset } from '../model/ids.ts'
import { type FetchedRecord, isPlaceholder, type Undecodable } from './recordBatches.ts'
import { type SourceRecord, sourceRecord, type TopicPartition } from './sourceRecord.ts'

/** If a member has sent no heartbeat for this time, for example because it was killed, the coordinator reassigns its partitions. */
const sessionTimeoutMs = 10_000
const heartbeatIntervalMs = 1_500
/** A rebalance waits this long for members to rejoin. */
const rebalanceTimeoutMs = 15_000
/** A member notices partitions that were added to a topic within this time. */
const metadataMaxAgeMs = 10_000
/** How long a broker waits for new records before it answers a fetch without any. */
const fetchWaitMs = 500

/** What one fetch has returned of a partition. */
export type FetchedBatch = TopicPartition & {
  /** The offset from which the partition was fetched. */
  readonly position: Offset
  /**
   * In offset order. A record counts as consumed once the iterator is past it. Example: a loop over offsets 5 to 9 breaks at 7: the next batch begins at 7.
   */
  readonly records: Iterable<SourceRecord>
  /** If compaction has removed records of this batch, the high watermark: later records of the same keys are below it. Otherwise undefined. */
  readonly gapBelow: bigint | undefined
  /** When the latest control record, or record of an aborted transaction, was appended (epoch ms); undefined without such a record. */
  readonly skippedAtMs: number | undefined
  /** Why the rest of the fetched bytes cannot be decoded. */
  readonly undecodable: Undecodable | undefined
  /** False once the member stops. */
  isReading(): boolean
  /** Sleeps, then sends a heartbeat, so that the member keeps its partitions. Resolves early when the member stops; rejects at a rebalance. */
  wait(forMs: number): Promise<void>
}

/** What a member of a group reads, and what it calls. */
export type GroupOptions = {
  readonly groupId: string
  readonly topics: readonly string[]
  /** Called when the member's partitions may be assigned to others: at the beginning of a rebalance. */
  onRevoked(): void
  /** Called with every new assignment. Its partitions stay paused until `readFrom` names their offsets. */
  onAssigned(partitions: readonly TopicPartition[]): Promise<void>
  /** Called with one batch at a time; resolves with whether all its records were consumed. */
  onBatch(batch: FetchedBatch): Promise<boolean>
  /**
   * Called when all records of a batch are consumed, and for a batch without records. From offset `from` to `lastOffset`, the partition has no more records.
   */
  onBatchEnd(partition: TopicPartition, from: bigint, lastOffset: Offset): void
}

/** `position`: the offset of the next record to read. `metadata`: a text that is stored with it. */
export type PartitionCommit = TopicPartition & { readonly position: Offset; readonly metadata: string }

export interface GroupMember {
  /** Joins and reads until `signal` aborts, then keeps the partitions until `leave`, for the last commits. Rejects when the member or a callback fails. */
  readonly run: (signal: AbortSignal) => Promise<void>
  /** Begins to read newly assigned partitions, each from `nextOffset`. */
  readonly readFrom: (partitions: readonly (TopicPartition & { readonly nextOffset: bigint })[]) => void
  readonly pause: (partitions: readonly TopicPartition[]) => void
  readonly resume: (partitions: readonly TopicPartition[]) => void
  /**
   * Commits offsets of assigned partitions. After a rebalance the coordinator rejects the commit, with one exception:
   * 1. KafkaJS loses the connection while it commits offset 80.
   * 2. Another member commits 90 to the same partition.
   * 3. KafkaJS rejoins the group, which now accepts the repeated commit of 80. Records 80 to 89 are read again, which changes nothing.
   */
  readonly commit: (commits: readonly PartitionCommit[]) => Promise<void>
  /** The group reassigns the member's partitions at once. */
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
  /** Resolved once `run` is to end, rejected at a failure. */
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
 * Pauses or resumes partitions, unless the member has crashed. Example:
 * 1. No broker answers a fetch. KafkaJS ends the member, which fetches nothing any more, and then takes some milliseconds to disconnect.
 * 2. In these, the process is told to stop, and pauses the member's partitions. KafkaJS throws, because it has no member.
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
    // KafkaJS does not call eachBatch for a batch without messages.
    if (payload.batchSize > 0) return
    try {
      options.onBatchEnd(payload, toOffset(payload.firstOffset), toOffset(payload.lastOffset))
    } catch (error) {
      // KafkaJS would only log the error.
      onFailure(error)
    }
  })
}

/** A batch of KafkaJS with the records of our decoder (`patches.ts`). */
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
        // KafkaJS sends a heartbeat only if `heartbeatInterval` has passed since the last one.
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
    // After an error that is not its own, KafkaJS would call eachBatch again.
    throw error instanceof kafkajs.KafkaJSError ? error : new kafkajs.KafkaJSNonRetriableError(error as Error)
  }
}

/** Yields the records before an undecodable batch. `resolveOffset` makes KafkaJS continue after a record that the loop has finished. */
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

/** The latest timestamp of the placeholders of control records and aborted records. */
function skippedAtMs(messages: readonly FetchedRecord[]): number | undefined {
  const timesMs = messages.filter(({ isSkipped }) => isSkipped).map(({ timestamp }) => Number(timestamp))
  return timesMs.length === 0 ? undefined : timesMs.reduce((latest, timeMs) => Math.max(latest, timeMs), 0)
}

/** The partitions in an assignment of KafkaJS: topic → numbers of partitions. */
export const partitionsIn = (assignment: Readonly<Record<string, readonly number[]>>): TopicPartition[] =>
  Object.entries(assignment).flatMap(([topic, partitions]) => partitions.map((partition) => ({ topic, partition })))

const forKafkaJs = (partitions: readonly TopicPartition[]): { topic: string; partitions: number[] }[] =>
  partitions.map(({ topic, partition }) => ({ topic, partitions: [partition] }))
