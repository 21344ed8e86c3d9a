import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs, { type Batch, type Consumer, type EachBatchPayload, type Kafka } from 'kafkajs'
import { type Offset, toOffset } from '../model/ids.ts'
import { type FetchedRecord, isPlaceholder, type Undecodable } from './recordBatches.ts'
import { type SourceRecord, sourceRecord, type TopicPartition } from './sourceRecord.ts'

/** The group reassigns the partitions of a killed member after this time. */
const sessionTimeoutMs = 10_000
/** A member sends heartbeats at most this far apart. */
const heartbeatIntervalMs = 1_500
/** A rebalance waits this long for a member that does not rejoin. */
const rebalanceTimeoutMs = 15_000
/** Partitions added to a topic are noticed within this time. */
const metadataMaxAgeMs = 10_000
const fetchWaitMs = 500

/** The records of one partition in one fetch. */
export type FetchedBatch = TopicPartition & {
  /** The offset from which the partition was fetched. */
  readonly position: Offset
  /** In offset order. A record counts as taken once the iterator advances past it; records not taken are delivered again. */
  readonly records: Iterable<SourceRecord>
  /** If compaction has removed offsets among them: the high watermark, below which later records have replaced what is missing. */
  readonly gapBelow: bigint | undefined
  /** When the latest of the control records and aborted records among them was appended (epoch ms); undefined without any. */
  readonly skippedAtMs: number | undefined
  /** Why the record batch behind `records` cannot be decoded. */
  readonly undecodable: Undecodable | undefined
  /** False once the member stops or crashes. */
  isReading(): boolean
  /** Sleeps while keeping the partitions. Resolves early when the member stops; rejects when the group rebalances. */
  wait(forMs: number): Promise<void>
}

export type GroupOptions = {
  readonly groupId: string
  readonly topics: readonly string[]
  onRevoked(): void
  /** Called with every new assignment, whose partitions stay paused until `readFrom`. */
  onAssigned(partitions: readonly TopicPartition[]): Promise<void>
  /** Called with one batch at a time; resolves with whether all of its records were taken. */
  onBatch(batch: FetchedBatch): Promise<boolean>
  /** Called once every record of a batch was taken, also of one without records. None is at `from`, after the last of them, to `lastOffset`. */
  onBatchEnd(partition: TopicPartition, from: bigint, lastOffset: Offset): void
}

/** The offset to commit for one partition. */
export type PartitionCommit = TopicPartition & { readonly position: Offset; readonly metadata: string }

export type GroupMember = ReturnType<typeof groupMember>

/** Creates a member of a consumer group; `run` joins the group. */
export function groupMember(kafka: Kafka, options: GroupOptions) {
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
  let accepted = 0
  consumer.on(consumer.events.COMMIT_OFFSETS, () => {
    accepted++
  })
  return {
    /** Joins and reads until `signal` aborts, then keeps the partitions until `leave`. Rejects when the member or a callback fails. */
    run: async (signal: AbortSignal): Promise<void> => {
      try {
        await consumer.connect()
        await consumer.subscribe({ topics: [...topics], fromBeginning: true })
        const eachBatch = (payload: EachBatchPayload): Promise<void> => takeBatch(options, payload, signal)
        await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch })
        signal.addEventListener('abort', () => ended.resolve(), { once: true })
        if (!signal.aborted) await ended.promise
      } catch (error) {
        await consumer.disconnect().catch(() => undefined)
        throw error
      }
    },
    /** Reads the assigned partitions from these offsets on. */
    readFrom: (partitions: readonly (TopicPartition & { readonly nextOffset: bigint })[]): void => {
      for (const { topic, partition, nextOffset } of partitions)
        consumer.seek({ topic, partition, offset: String(nextOffset) })
      consumer.resume(listed(partitions))
    },
    pause: (partitions: readonly TopicPartition[]): void => consumer.pause(listed(partitions)),
    resume: (partitions: readonly TopicPartition[]): void => consumer.resume(listed(partitions)),
    /**
     * Commits offsets of assigned partitions; after a rebalance the broker rejects them. But it accepts a commit that KafkaJS retries
     * after a lost connection and a rejoin: the committed offset may then go back, to one already searchable.
     */
    commit: async (commits: readonly PartitionCommit[]): Promise<void> => {
      const before = accepted
      await consumer.commitOffsets(commits.map(({ position, ...commit }) => ({ ...commit, offset: String(position) })))
      // KafkaJS resolves without a commit while it stops.
      if (accepted === before) throw new Error('nothing was committed: the member stops')
    },
    /** Leaves the group, which reassigns the member's partitions at once. */
    leave: (): Promise<void> => consumer.disconnect(),
  }
}

/** Calls the member's callbacks for what happens outside eachBatch; `onFailure` gets what crashes the member, or a callback's error. */
function subscribeToEvents(consumer: Consumer, options: GroupOptions, onFailure: (error: unknown) => void): void {
  const { CRASH, REBALANCING, GROUP_JOIN, START_BATCH_PROCESS } = consumer.events
  consumer.on(CRASH, ({ payload }) => onFailure(payload.error))
  consumer.on(REBALANCING, options.onRevoked)
  consumer.on(GROUP_JOIN, ({ payload }) => {
    const partitions = partitionsIn(payload.memberAssignment)
    consumer.pause(listed(partitions))
    options.onAssigned(partitions).catch(onFailure)
  })
  consumer.on(START_BATCH_PROCESS, ({ payload }) => {
    // KafkaJS skips eachBatch for batches of transaction markers alone, and for those that compaction emptied.
    if (payload.batchSize > 0) return
    try {
      options.onBatchEnd(payload, toOffset(payload.firstOffset), toOffset(payload.lastOffset))
    } catch (error) {
      // KafkaJS would only log it.
      onFailure(error)
    }
  })
}

/** A batch of KafkaJS with the records of our own decoder. */
type DecodedBatch = Omit<Batch, 'messages'> & {
  readonly fetchedOffset: string
  readonly messages: readonly FetchedRecord[]
}

async function takeBatch(options: GroupOptions, payload: EachBatchPayload, signal: AbortSignal) {
  const { resolveOffset, heartbeat, isRunning } = payload
  const batch = payload.batch as unknown as DecodedBatch
  const { topic, partition } = batch
  const last = batch.messages.at(-1)
  try {
    const isTaken = await options.onBatch({
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
        // KafkaJS sends a heartbeat only when `heartbeatInterval` has passed since the last one.
        await heartbeat()
      },
    })
    if (!isTaken) return
    const lastRecord = batch.messages.findLast((message) => !isPlaceholder(message))
    const from = lastRecord === undefined ? BigInt(batch.fetchedOffset) : BigInt(lastRecord.offset) + 1n
    options.onBatchEnd({ topic, partition }, from, toOffset(batch.lastOffset()))
    resolveOffset(batch.lastOffset())
    await heartbeat()
  } catch (error) {
    // KafkaJS would retry eachBatch after any other error.
    throw error instanceof kafkajs.KafkaJSError ? error : new kafkajs.KafkaJSNonRetriableError(error as Error)
  }
}

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
  const skipped = messages.filter(({ isSkipped }) => isSkipped)
  return skipped.reduce<number | undefined>((max, { timestamp }) => Math.max(max ?? 0, Number(timestamp)), undefined)
}

/** Flattens an assignment (topic → partitions). */
export const partitionsIn = (assignment: Readonly<Record<string, readonly number[]>>): TopicPartition[] =>
  Object.entries(assignment).flatMap(([topic, partitions]) => partitions.map((partition) => ({ topic, partition })))

const listed = (partitions: readonly TopicPartition[]): { topic: string; partitions: number[] }[] =>
  partitions.map(({ topic, partition }) => ({ topic, partitions: [partition] }))
