import type { Admin, Kafka } from 'kafkajs'
import { type Cluster, createCluster, type FetchAnswer } from './cluster.ts'
import { isPlaceholder } from './recordBatches.ts'
import { type SourceRecord, sourceRecord } from './sourceRecord.ts'

const stallMs = 600_000
const fetchWaitMs = 250
const readCommitted = 1
const maxPartitionBytes = 1_048_576

export type ReadOptions = {
  readonly topic: string
  /** Partition → the only offsets to read; without it, the whole topic. */
  readonly ranges?: ReadonlyMap<number, OffsetSpan>
  readonly signal: AbortSignal
  /** Awaited before the next record, which gives backpressure. */
  readonly onRecord: (record: SourceRecord) => Promise<void>
}

/** Offsets from `from` (inclusive) to `to` (exclusive). */
export type OffsetSpan = { readonly from: bigint; readonly to: bigint }

/**
 * Reads a topic, or `ranges` of it, from its beginning to its present end, without a consumer group. Rejects after ten minutes without
 * a record (as a transaction may stay open), when `signal` aborts, when a record batch is undecodable, or when retries fail.
 */
export async function readTopic(kafka: Kafka, { topic, ranges, signal, onRecord }: ReadOptions): Promise<void> {
  const [admin, cluster] = [kafka.admin(), createCluster(kafka)]
  /** Retries with backoff and fresh metadata. */
  const ask = <Answer>(question: () => Promise<Answer>): Promise<Answer> =>
    cluster.retrier(async (bail) => {
      if (signal.aborted) return bail(signal.reason)
      try {
        await cluster.addTargetTopic(topic)
        return await question()
      } catch (error) {
        await cluster.refreshMetadata()
        throw error
      }
    })
  try {
    await admin.connect()
    let unread = await heldOf(admin, topic, ranges)
    let lastRecordMs = performance.now()
    while (unread.size > 0) {
      const fetched = await ask(async () => {
        try {
          return await fetchUnread(cluster, topic, unread)
        } catch (error) {
          if ((error as { readonly type?: string }).type !== 'OFFSET_OUT_OF_RANGE') throw error
          // Retention has deleted records meanwhile.
          unread = await heldOf(admin, topic, unread)
          return []
        }
      })
      for (const each of fetched) {
        for (const record of recordsIn(topic, each)) {
          signal.throwIfAborted()
          await onRecord(record)
          lastRecordMs = performance.now()
        }
        const { partition, next, span, emptyAnswers } = each
        if (next < span.to) unread.set(partition, { from: next, to: span.to, emptyAnswers })
        else unread.delete(partition)
      }
      if (performance.now() - lastRecordMs > stallMs) throw new Error(`${topic} has returned no record for ten minutes`)
    }
  } finally {
    // A failed disconnect must not replace the error of the read.
    await Promise.allSettled([admin.disconnect(), cluster.disconnect()])
  }
}

function* recordsIn(topic: string, { partition, messages, span: { from, to } }: Fetched): Generator<SourceRecord> {
  for (const message of messages) {
    const { undecodable } = message
    if (undecodable !== undefined)
      throw new Error(`${topic}/${partition}: ${undecodable.message}`, { cause: undecodable })
    const record = sourceRecord(topic, partition, message)
    // The first batch may begin before the span, and the last one end after it.
    if (record.offset >= from && record.offset < to && !isPlaceholder(message)) yield record
    if (record.offset + 1n >= to) return
  }
}

/** `emptyAnswers`: how many in a row there were at `from` though the last stable offset is past the span. */
type Unread = OffsetSpan & { readonly emptyAnswers: number }
/** `next` is the next offset to fetch. */
type Fetched = Pick<FetchAnswer, 'partition' | 'messages'> & {
  readonly span: OffsetSpan
  readonly next: bigint
  readonly emptyAnswers: number
}

const everything: OffsetSpan = { from: 0n, to: 2n ** 63n }
const nothing: Unread = { from: 0n, to: 0n, emptyAnswers: 0 }
/** A broker that reads from remote storage may answer without records for a while. */
const emptyAnswersOfNothing = 5
const higher = (a: bigint, b: bigint): bigint => (a > b ? a : b)

/** Intersects `ranges`, or everything, with the offsets that each partition holds. */
async function heldOf(admin: Admin, topic: string, ranges: ReadOptions['ranges']): Promise<Map<number, Unread>> {
  const held = new Map<number, Unread>()
  for (const { partition, ...ends } of await admin.fetchTopicOffsets(topic)) {
    const [low, high] = [BigInt(ends.low), BigInt(ends.high)]
    const { from, to } = ranges === undefined ? everything : (ranges.get(partition) ?? nothing)
    const span = { from: higher(from, low), to: to < high ? to : high, emptyAnswers: 0 }
    if (span.from < span.to) held.set(partition, span)
  }
  return held
}

/** Fetches once from every partition leader. */
async function fetchUnread(cluster: Cluster, topic: string, unread: Map<number, Unread>): Promise<Fetched[]> {
  const leaders = Object.entries(cluster.findLeaderForPartitions(topic, [...unread.keys()]))
  if (leaders.length === 0) throw new Error(`Kafka returns no partitions of ${topic}`)
  const answers = await Promise.all(
    leaders.map(async ([nodeId, partitions]) => {
      const broker = await cluster.findBroker({ nodeId })
      const wanted = partitions.map((partition) => {
        return { partition, fetchOffset: String(unread.get(partition)?.from), maxBytes: maxPartitionBytes }
      })
      const { responses } = await broker.fetch({
        maxWaitTime: fetchWaitMs,
        isolationLevel: readCommitted,
        topics: [{ topic, partitions: wanted }],
      })
      const fetched = responses.flatMap((each) => each.partitions)
      const isEmpty = fetched.every(({ messages }) => messages.length === 0)
      return fetched.map(({ partition, lastStableOffset, messages }) => {
        const span = unread.get(partition) ?? nothing
        // A broker omits records above the response size or the last stable offset. So when responses stay empty though that offset
        // is past the span, the rest of the span was deleted.
        const emptyAnswers = isEmpty && BigInt(lastStableOffset) >= span.to ? span.emptyAnswers + 1 : 0
        const last = messages.at(-1)
        const isGone = emptyAnswers >= emptyAnswersOfNothing
        const next = isGone ? span.to : last === undefined ? span.from : BigInt(last.offset) + 1n
        return { partition, messages, span, next, emptyAnswers }
      })
    }),
  )
  return answers.flat()
}
