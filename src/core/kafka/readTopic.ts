import type { Admin, Kafka } from 'kafkajs'
import { type Cluster, createCluster, type FetchAnswer } from './cluster.ts'
import { isPlaceholder } from './recordBatches.ts'
import { type SourceRecord, sourceRecord } from './sourceRecord.ts'

/** A read that gets no record for this time fails. */
const stallMs = 600_000
const fetchWaitMs = 250
const readCommitted = 1
const maxPartitionBytes = 1_048_576

export type ReadOptions = {
  readonly topic: string
  /** Partition → offsets to read; without `spans`, the whole topic is read. */
  readonly spans?: ReadonlyMap<number, OffsetSpan>
  readonly signal: AbortSignal
  /** The next record waits until this resolves. */
  readonly onRecord: (record: SourceRecord) => Promise<void>
}

/** `to` is exclusive. */
export type OffsetSpan = { readonly from: bigint; readonly to: bigint }

/** `emptyAnswers`: successive empty answers that no open transaction explains. */
type UnreadSpan = OffsetSpan & { readonly emptyAnswers: number }

/** `span`: what was unread before this fetch. `next`: the first offset still to be read. */
type FetchedPartition = Pick<FetchAnswer, 'partition' | 'messages'> & {
  readonly span: OffsetSpan
  readonly next: bigint
  readonly emptyAnswers: number
}

/**
 * Reads a topic, or `spans` of it, to its present end, without a consumer group. Rejects when `signal` aborts, at an undecodable batch, after failed retries,
 * and after ten minutes without a record, as behind an open transaction.
 */
export async function readTopic(kafka: Kafka, { topic, spans, signal, onRecord }: ReadOptions): Promise<void> {
  const admin = kafka.admin()
  const cluster = createCluster(kafka)
  const withRetries = <Answer>(request: () => Promise<Answer>): Promise<Answer> =>
    cluster.retrier(async (bail) => {
      if (signal.aborted) return bail(signal.reason)
      try {
        await cluster.addTargetTopic(topic)
        return await request()
      } catch (error) {
        await cluster.refreshMetadata()
        throw error
      }
    })
  try {
    await admin.connect()
    let unreadSpans = await unreadSpansIn(admin, topic, spans)
    let lastRecordMs = performance.now()
    while (unreadSpans.size > 0) {
      const fetched = await withRetries(async () => {
        try {
          return await fetchUnread(cluster, topic, unreadSpans)
        } catch (error) {
          if ((error as { readonly type?: string }).type !== 'OFFSET_OUT_OF_RANGE') throw error
          // Retention has deleted records meanwhile.
          unreadSpans = await unreadSpansIn(admin, topic, unreadSpans)
          return []
        }
      })
      for (const fetchedPartition of fetched) {
        for (const record of recordsIn(topic, fetchedPartition)) {
          signal.throwIfAborted()
          await onRecord(record)
          lastRecordMs = performance.now()
        }
        const { partition, next, span, emptyAnswers } = fetchedPartition
        if (next < span.to) unreadSpans.set(partition, { from: next, to: span.to, emptyAnswers })
        else unreadSpans.delete(partition)
      }
      if (performance.now() - lastRecordMs > stallMs) throw new Error(`${topic} has returned no record for ten minutes`)
    }
  } finally {
    await Promise.allSettled([admin.disconnect(), cluster.disconnect()])
  }
}

function* recordsIn(
  topic: string,
  { partition, messages, span: { from, to } }: FetchedPartition,
): Generator<SourceRecord> {
  for (const message of messages) {
    const { undecodable } = message
    if (undecodable !== undefined)
      throw new Error(`${topic}/${partition}: ${undecodable.message}`, { cause: undecodable })
    const record = sourceRecord(topic, partition, message)
    if (record.offset >= from && record.offset < to && !isPlaceholder(message)) yield record
    if (record.offset + 1n >= to) return
  }
}

const allOffsets: OffsetSpan = { from: 0n, to: 2n ** 63n }
const noOffsets: UnreadSpan = { from: 0n, to: 0n, emptyAnswers: 0 }
/** After this many empty answers, the rest of a span counts as deleted. A broker with remote storage may answer empty a few times. */
const maxEmptyAnswers = 5
const maxOffset = (a: bigint, b: bigint): bigint => (a > b ? a : b)

async function unreadSpansIn(
  admin: Admin,
  topic: string,
  spans: ReadOptions['spans'],
): Promise<Map<number, UnreadSpan>> {
  const unreadSpans = new Map<number, UnreadSpan>()
  for (const { partition, ...ends } of await admin.fetchTopicOffsets(topic)) {
    const low = BigInt(ends.low)
    const high = BigInt(ends.high)
    const { from, to } = spans === undefined ? allOffsets : (spans.get(partition) ?? noOffsets)
    const span = { from: maxOffset(from, low), to: to < high ? to : high, emptyAnswers: 0 }
    if (span.from < span.to) unreadSpans.set(partition, span)
  }
  return unreadSpans
}

async function fetchUnread(
  cluster: Cluster,
  topic: string,
  unreadSpans: Map<number, UnreadSpan>,
): Promise<FetchedPartition[]> {
  const leaders = Object.entries(cluster.findLeaderForPartitions(topic, [...unreadSpans.keys()]))
  if (leaders.length === 0) throw new Error(`Kafka returns no partitions of ${topic}`)
  const answers = await Promise.all(
    leaders.map(async ([nodeId, partitions]) => {
      const broker = await cluster.findBroker({ nodeId })
      const requested = partitions.map((partition) => {
        return { partition, fetchOffset: String(unreadSpans.get(partition)?.from), maxBytes: maxPartitionBytes }
      })
      const { responses } = await broker.fetch({
        maxWaitTime: fetchWaitMs,
        isolationLevel: readCommitted,
        topics: [{ topic, partitions: requested }],
      })
      const fetched = responses.flatMap((response) => response.partitions)
      const isEmpty = fetched.every(({ messages }) => messages.length === 0)
      return fetched.map(({ partition, lastStableOffset, messages }) => {
        const span = unreadSpans.get(partition) ?? noOffsets
        // A broker omits records beyond the response size, or from the first open transaction on (the last stable offset). If neither explains empty answers,
        // the records were deleted.
        const emptyAnswers = isEmpty && BigInt(lastStableOffset) >= span.to ? span.emptyAnswers + 1 : 0
        const last = messages.at(-1)
        const afterLast = last === undefined ? span.from : BigInt(last.offset) + 1n
        const next = emptyAnswers >= maxEmptyAnswers ? span.to : afterLast
        return { partition, messages, span, next, emptyAnswers }
      })
    }),
  )
  return answers.flat()
}
