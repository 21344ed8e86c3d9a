import type { Admin, Kafka } from 'kafkajs'
import { type FetchedRecord, undecodableOf } from './recordBatches.ts'
import { type SourceRecord, sourceRecord } from './sourceRecord.ts'

const stallMs = 600_000
const fetchWaitMs = 250
const readCommitted = 1
const maxPartitionBytes = 1_048_576

export type ReadOptions = {
  readonly topic: string
  /** Reads only these records, by partition. */
  readonly ranges?: ReadonlyMap<number, OffsetSpan>
  readonly signal: AbortSignal
  /** Awaited before the next record, so that it bounds what is in flight. */
  readonly onRecord: (record: SourceRecord) => Promise<void>
}

/** From an offset to below another one. */
export type OffsetSpan = { readonly from: bigint; readonly to: bigint }

/**
 * Reads a topic, or `ranges` of it, from its beginning to the end that it has now, without a group. Rejects after ten minutes without
 * a record (a transaction may be open for so long), when `signal` aborts, when a record batch cannot be decoded, or when Kafka gives up.
 */
export async function readTopic(kafka: Kafka, { topic, ranges, signal, onRecord }: ReadOptions): Promise<void> {
  const [admin, cluster] = [kafka.admin(), createCluster(kafka)]
  /** Asks again after a failure, with new metadata and backoff. */
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
          // Records were removed meanwhile.
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
        if (each.next < each.span.to) unread.set(each.partition, { from: each.next, to: each.span.to })
        else unread.delete(each.partition)
      }
      if (performance.now() - lastRecordMs > stallMs) throw new Error(`${topic} brings no record for ten minutes`)
    }
  } finally {
    // A failure to close must not hide how the reading ended.
    await Promise.allSettled([admin.disconnect(), cluster.disconnect()])
  }
}

function* recordsIn(topic: string, { partition, messages, span: { from, to } }: Fetched): Generator<SourceRecord> {
  for (const message of messages) {
    const undecodable = undecodableOf(message)
    if (undecodable !== undefined)
      throw new Error(`${topic}/${partition}: ${undecodable.message}`, { cause: undecodable })
    const record = sourceRecord(topic, partition, message)
    // The first batch may begin below, and the last one end above.
    if (record.offset >= from && record.offset < to && !message.isControlRecord) yield record
    if (record.offset + 1n >= to) return
  }
}

type Answer = {
  readonly partition: number
  readonly lastStableOffset: string
  readonly messages: readonly FetchedRecord[]
}
/** `next` is the offset behind what was fetched. */
type Fetched = Pick<Answer, 'partition' | 'messages'> & { readonly span: OffsetSpan; readonly next: bigint }

/** The part of KafkaJS 2.2.4 that finds the leaders of partitions; its consumers read as members of a group only. */
type Cluster = {
  retrier<Answer>(attempt: (bail: (error: unknown) => never) => Promise<Answer>): Promise<Answer>
  addTargetTopic(topic: string): Promise<void>
  refreshMetadata(): Promise<void>
  findLeaderForPartitions(topic: string, partitions: readonly number[]): Readonly<Record<string, readonly number[]>>
  findBroker(node: { readonly nodeId: string }): Promise<Broker>
  disconnect(): Promise<void>
}

type Broker = {
  fetch(request: object): Promise<{ readonly responses: readonly { readonly partitions: readonly Answer[] }[] }>
}

function createCluster(kafka: Kafka): Cluster {
  const parts = kafka as unknown as Record<symbol, ((options: object) => Cluster) | undefined>
  const symbols = Object.getOwnPropertySymbols(kafka)
  const name = symbols.find(({ description }) => description === 'private:Kafka:createCluster')
  const create = name && parts[name]
  if (create === undefined) throw new Error('the clusters of KafkaJS have moved')
  return create({ allowAutoTopicCreation: false })
}

const everything: OffsetSpan = { from: 0n, to: 2n ** 63n }
const nothing: OffsetSpan = { from: 0n, to: 0n }
const higher = (a: bigint, b: bigint): bigint => (a > b ? a : b)

/** The offsets that the partitions hold of each range, or of everything. */
async function heldOf(admin: Admin, topic: string, ranges: ReadOptions['ranges']): Promise<Map<number, OffsetSpan>> {
  const held = new Map<number, OffsetSpan>()
  for (const { partition, ...ends } of await admin.fetchTopicOffsets(topic)) {
    const [low, high] = [BigInt(ends.low), BigInt(ends.high)]
    const { from, to } = ranges === undefined ? everything : (ranges.get(partition) ?? nothing)
    const span = { from: higher(from, low), to: to < high ? to : high }
    if (span.from < span.to) held.set(partition, span)
  }
  return held
}

/** Fetches from every leader once. */
async function fetchUnread(cluster: Cluster, topic: string, unread: Map<number, OffsetSpan>): Promise<Fetched[]> {
  const leaders = Object.entries(cluster.findLeaderForPartitions(topic, [...unread.keys()]))
  if (leaders.length === 0) throw new Error(`${topic} has lost its partitions`)
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
        // A broker leaves records out only for the size of an answer, and behind the last stable offset. So when it leaves out all below
        // that, the rest of the partition was removed.
        const isGone = isEmpty && BigInt(lastStableOffset) >= span.to
        const last = messages.at(-1)
        // A set of messages of an old format may end below.
        const next = isGone ? span.to : last === undefined ? span.from : higher(BigInt(last.offset), span.from) + 1n
        return { partition, messages, span, next }
      })
    }),
  )
  return answers.flat()
}
