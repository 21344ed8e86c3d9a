import { setTimeout as sleep } from 'node:timers/promises'
import type { Admin, Consumer, Kafka } from 'kafkajs'
import { aborted } from '../process/aborted.ts'
import { fetchStableOffsets } from './patches.ts'
import { undecodableOf } from './recordBatches.ts'
import { type SourceRecord, sourceRecord } from './sourceRecord.ts'

const stallMs = 600_000
const fetchWaitMs = 250
/**
 * After so many fetches of every broker without a record, the topic is read: the records before its end are gone. It counts only from a
 * moment on at which the last stable offset had reached that end: before an open transaction, fetches bring nothing either.
 */
const quietFetches = 4
/** How often it is looked whether an open transaction has ended. */
const stableCheckMs = 250

export type ReadOptions = {
  readonly topic: string
  /** A group that nobody else uses. */
  readonly groupId: string
  /** Reads only these records, by partition: from an offset to below another one. */
  readonly ranges?: ReadonlyMap<number, OffsetSpan>
  readonly signal: AbortSignal
  /** Awaited before the next record, so that it bounds what is in flight. */
  readonly onRecord: (record: SourceRecord) => Promise<void>
}

export type OffsetSpan = { readonly from: bigint; readonly to: bigint }

/**
 * Reads a topic, or `ranges` of it, from its beginning to the end that it has now, outside every other group, and commits nothing. Rejects after ten
 * minutes without a record (a transaction may be open for so long), when `signal` aborts, when a record batch cannot be decoded, or when Kafka gives up.
 */
export async function readTopic(kafka: Kafka, options: ReadOptions): Promise<void> {
  const { topic, groupId, ranges, signal, onRecord } = options
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
  whenQuiet(consumer, {
    isStable: () => areStable(kafka, topic, ends),
    onQuiet: done.resolve,
    onError: done.reject,
  })
  if (ranges !== undefined) startAt(consumer, topic, ranges)
  const stalled = setTimeout(() => done.reject(new Error(`${topic} brings no record for ten minutes`)), stallMs)
  try {
    signal.throwIfAborted()
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
          stalled.refresh()
          const record = sourceRecord(topic, partition, message)
          if (isWithin(record.offset, ranges?.get(partition))) await onRecord(record)
          await heartbeat()
        }
        reached(partition, batch.lastOffset())
      },
    })
    await Promise.race([done.promise, aborted(signal)])
  } finally {
    clearTimeout(stalled)
    // How the reading ended is told, not how leaving did.
    await consumer.disconnect().catch(() => undefined)
  }
}

/** Partitions that hold records to read → the offset after the last of them. */
async function unreadEnds(kafka: Kafka, { topic, ranges }: ReadOptions): Promise<Map<number, bigint>> {
  const offsets = await ask(kafka, (admin) => admin.fetchTopicOffsets(topic))
  const held = offsets.filter(({ low, high }) => BigInt(low) < BigInt(high))
  const ends = new Map(held.map(({ partition, high }) => [partition, BigInt(high)]))
  if (ranges === undefined) return ends
  return new Map(
    [...ranges].flatMap(([partition, { from, to }]) => {
      const end = ends.get(partition) ?? 0n
      return from < to && from < end ? [[partition, to < end ? to : end] as const] : []
    }),
  )
}

/** Whether no open transaction, and no leader that lags behind the one before, keeps records below these ends from being fetched. */
async function areStable(kafka: Kafka, topic: string, ends: ReadonlyMap<number, bigint>): Promise<boolean> {
  const stable = await ask(kafka, (admin) => fetchStableOffsets(admin, topic))
  return [...ends].every(([partition, end]) => (stable.get(partition) ?? end) >= end)
}

async function ask<Answer>(kafka: Kafka, question: (admin: Admin) => Promise<Answer>): Promise<Answer> {
  const admin = kafka.admin()
  await admin.connect()
  try {
    return await question(admin)
  } finally {
    await admin.disconnect()
  }
}

const isWithin = (offset: bigint, range: OffsetSpan | undefined): boolean =>
  range === undefined || (offset >= range.from && offset < range.to)

/** Makes a consumer fetch each range from its first offset on, and no other partition. */
function startAt(consumer: Consumer, topic: string, ranges: ReadonlyMap<number, OffsetSpan>): void {
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    const others = (payload.memberAssignment[topic] ?? []).filter((each) => !ranges.has(each))
    if (others.length > 0) consumer.pause([{ topic, partitions: others }])
    for (const [partition, { from }] of ranges) consumer.seek({ topic, partition, offset: String(from) })
  })
}

type Quiet = {
  /** Whether fetches can bring every record that is left. */
  isStable(): Promise<boolean>
  onQuiet(): void
  onError(error: unknown): void
}

/** Calls `onQuiet` once several fetches of every broker in succession have brought no record although they could have. */
function whenQuiet(consumer: Consumer, { isStable, onQuiet, onError }: Quiet): void {
  /** Broker → fetches without a record. A broker whose records are being handled stays at 0 until it is asked again. */
  const quiet = new Map<number, number>()
  const beginAnew = (): void => {
    for (const nodeId of quiet.keys()) quiet.set(nodeId, 0)
  }
  let wasStable = false
  let isAsking = false
  const decide = async (): Promise<void> => {
    if (wasStable) return onQuiet()
    isAsking = true
    wasStable = await isStable()
    if (!wasStable) await sleep(stableCheckMs)
    // What was fetched before the answer says nothing.
    beginAnew()
    isAsking = false
  }
  consumer.on(consumer.events.GROUP_JOIN, () => quiet.clear())
  consumer.on(consumer.events.START_BATCH_PROCESS, beginAnew)
  consumer.on(consumer.events.FETCH_START, ({ payload: { nodeId } }) => {
    if (!quiet.has(nodeId)) quiet.set(nodeId, 0)
  })
  consumer.on(consumer.events.FETCH, ({ payload: { nodeId } }) => {
    quiet.set(nodeId, (quiet.get(nodeId) ?? 0) + 1)
    if (!isAsking && Math.min(...quiet.values()) > quietFetches) decide().catch(onError)
  })
}
