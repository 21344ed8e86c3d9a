import type { Consumer, Kafka } from 'kafkajs'
import type { Offset } from '../model/ids.ts'
import { aborted } from '../process/aborted.ts'
import { undecodableOf } from './recordBatches.ts'
import { type SourceRecord, sourceRecord } from './sourceRecord.ts'

const deadlineMs = 600_000
const fetchWaitMs = 250
/** After so many fetches of every broker without a record, the topic is read: compaction has removed the records before the end. */
const quietFetches = 4

export type ReadOptions = {
  readonly topic: string
  /** A group that nobody else uses. */
  readonly groupId: string
  /** Reads only the record at this place, if compaction has not removed it. */
  readonly only?: { readonly partition: number; readonly offset: Offset }
  readonly signal: AbortSignal
  /** Awaited before the next record, so that it bounds what is in flight. */
  readonly onRecord: (record: SourceRecord) => Promise<void>
}

/**
 * Reads a topic from its beginning to the end that it has now, outside every other group, and commits nothing. Rejects after ten
 * minutes, when `signal` aborts, when a record batch cannot be decoded, or when Kafka gives up.
 */
export async function readTopic(kafka: Kafka, options: ReadOptions): Promise<void> {
  const { topic, groupId, only, signal, onRecord } = options
  const ends = await unreadEnds(kafka, options)
  if (ends.size === 0) return
  const consumer = kafka.consumer({
    groupId,
    maxWaitTimeInMs: fetchWaitMs,
    allowAutoTopicCreation: false,
    retry: { restartOnFailure: async () => false },
  })
  const done = Promise.withResolvers<void>()
  // It may be rejected before anyone waits for it.
  done.promise.catch(() => undefined)
  const reached = (partition: number, lastOffset: string): void => {
    if (BigInt(lastOffset) + 1n >= (ends.get(partition) ?? 0n)) ends.delete(partition)
    if (ends.size === 0) done.resolve()
  }
  consumer.on(consumer.events.CRASH, ({ payload }) => done.reject(payload.error))
  consumer.on(consumer.events.START_BATCH_PROCESS, ({ payload }) => {
    if (payload.batchSize === 0) reached(payload.partition, payload.lastOffset)
  })
  whenQuiet(consumer, done.resolve)
  if (only !== undefined) startAt(consumer, topic, only)
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)])
  try {
    deadline.throwIfAborted()
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch, heartbeat }) => {
        const { partition } = batch
        for (const message of batch.messages) {
          const undecodable = undecodableOf(message)
          if (undecodable !== undefined)
            return done.reject(new Error(`${topic}/${partition}: ${undecodable.message}`, { cause: undecodable }))
          const record = sourceRecord(topic, partition, message)
          if (only === undefined || record.offset === only.offset) await onRecord(record)
          await heartbeat()
        }
        reached(partition, batch.lastOffset())
      },
    })
    await Promise.race([done.promise, aborted(deadline)])
  } finally {
    await consumer.disconnect()
  }
}

/** Partitions that hold records to read → the offset after the last of them. */
async function unreadEnds(kafka: Kafka, { topic, only }: ReadOptions): Promise<Map<number, bigint>> {
  const admin = kafka.admin()
  await admin.connect()
  try {
    const ranges = await admin.fetchTopicOffsets(topic)
    const held = ranges.filter(({ low, high }) => BigInt(low) < BigInt(high))
    const ends = new Map(held.map(({ partition, high }) => [partition, BigInt(high)]))
    if (only === undefined) return ends
    return new Map((ends.get(only.partition) ?? 0n) > only.offset ? [[only.partition, only.offset + 1n]] : [])
  } finally {
    await admin.disconnect()
  }
}

/** Makes a consumer fetch one partition, from an offset on. */
function startAt(consumer: Consumer, topic: string, { partition, offset }: NonNullable<ReadOptions['only']>): void {
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    const others = (payload.memberAssignment[topic] ?? []).filter((each) => each !== partition)
    consumer.pause([{ topic, partitions: others }])
    consumer.seek({ topic, partition, offset: String(offset) })
  })
}

/** Calls `onQuiet` once several fetches of every broker in succession have brought no record. */
function whenQuiet(consumer: Consumer, onQuiet: () => void): void {
  /** Broker → fetches without a record. A broker whose records are being handled stays at 0 until it is asked again. */
  const quiet = new Map<number, number>()
  consumer.on(consumer.events.GROUP_JOIN, () => quiet.clear())
  consumer.on(consumer.events.START_BATCH_PROCESS, () => {
    for (const nodeId of quiet.keys()) quiet.set(nodeId, 0)
  })
  consumer.on(consumer.events.FETCH_START, ({ payload: { nodeId } }) => {
    if (!quiet.has(nodeId)) quiet.set(nodeId, 0)
  })
  consumer.on(consumer.events.FETCH, ({ payload: { nodeId } }) => {
    quiet.set(nodeId, (quiet.get(nodeId) ?? 0) + 1)
    if (Math.min(...quiet.values()) > quietFetches) onQuiet()
  })
}
