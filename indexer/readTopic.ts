import type { Kafka } from 'kafkajs'
import { undecodableOf } from '../src/core/stores/recordBatches.ts'
import { type SourceRecord, sourceRecord } from './sourceRecord.ts'

const deadlineMs = 600_000
const fetchWaitMs = 250
/** Fetches of every broker without a record, after which nothing is left, though compacted records lie before the end. */
const quietFetches = 4

/**
 * Reads a topic from its beginning to the end it has now, outside every other group, and commits nothing. `onRecord` is
 * awaited, so that it bounds what is under way. Rejects after ten minutes, when `signal` aborts, when a record
 * batch cannot be decoded, or when Kafka gives up.
 */
export async function readTopic(options: {
  kafka: Kafka
  topic: string
  /** A group that nobody else uses. */
  groupId: string
  signal: AbortSignal
  onRecord: (record: SourceRecord) => Promise<void>
}): Promise<void> {
  const { kafka, topic, groupId, signal, onRecord } = options
  const ends = await presentEnds(kafka, topic)
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
  /** Broker → fetches without a record; one whose records are being worked on stays at 0 until it is asked again. */
  const quiet = new Map<number, number>()
  const notQuiet = (): void => {
    for (const nodeId of quiet.keys()) quiet.set(nodeId, 0)
  }
  consumer.on(consumer.events.CRASH, ({ payload }) => done.reject(payload.error))
  consumer.on(consumer.events.GROUP_JOIN, () => quiet.clear())
  consumer.on(consumer.events.START_BATCH_PROCESS, ({ payload }) => {
    notQuiet()
    if (payload.batchSize === 0) reached(payload.partition, payload.lastOffset)
  })
  consumer.on(consumer.events.FETCH_START, ({ payload }) => {
    if (!quiet.has(payload.nodeId)) quiet.set(payload.nodeId, 0)
  })
  consumer.on(consumer.events.FETCH, ({ payload }) => {
    quiet.set(payload.nodeId, (quiet.get(payload.nodeId) ?? 0) + 1)
    if (Math.min(...quiet.values()) > quietFetches) done.resolve()
  })
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)])
  const onAbort = (): void => done.reject(deadline.reason)
  deadline.addEventListener('abort', onAbort, { once: true })
  try {
    deadline.throwIfAborted()
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch, heartbeat }) => {
        for (const message of batch.messages) {
          const undecodable = undecodableOf(message)
          if (undecodable !== undefined)
            return done.reject(new Error(`${topic}/${batch.partition}: ${undecodable.message}`, { cause: undecodable }))
          await onRecord(sourceRecord(batch.topic, batch.partition, message))
          await heartbeat()
        }
        reached(batch.partition, batch.lastOffset())
      },
    })
    await done.promise
  } finally {
    deadline.removeEventListener('abort', onAbort)
    await consumer.disconnect()
  }
}

/** Partitions that hold records → the offset after their last one. */
async function presentEnds(kafka: Kafka, topic: string): Promise<Map<number, bigint>> {
  const admin = kafka.admin()
  await admin.connect()
  try {
    const offsets = await admin.fetchTopicOffsets(topic)
    const held = offsets.filter(({ low, high }) => BigInt(low) < BigInt(high))
    return new Map(held.map(({ partition, high }) => [partition, BigInt(high)]))
  } finally {
    await admin.disconnect()
  }
}
