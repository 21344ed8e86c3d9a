import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '@elastic/elasticsearch'
import type { KafkaSource } from '../../src/core/kafka/source.ts'
import { partitionName, type TopicPartition } from '../../src/core/kafka/sourceRecord.ts'
import type { Config } from '../../src/core/process/config.ts'
import { type RedisConnection, type RedisMemory, readRedisMemory } from '../../src/core/stores/redis.ts'
import { type PublishedWatermark, readWatermark } from '../../src/core/stores/watermark.ts'
import {
  type GroupSurvey,
  type IndexSurvey,
  type PartitionSurvey,
  progressBetween,
  surveyGroup,
  surveyIndices,
} from './surveys.ts'

/** The state of this indexer itself; what is undefined is not known yet. */
export type OwnState = {
  readonly startedAtMs: number
  readonly maxInFlightBytes: number
  readonly inFlightBytes: number
  /** The watermark that it published last. */
  readonly watermarkMs: number | undefined
  /** How far its clock is ahead of that of Redis. */
  readonly clockOffsetMs: number | undefined
  /** For how long the record that waits longest has not been stored; 0 when none waits after a failure. */
  readonly writerBlockedMs: number
  /** Those that it owns. */
  readonly partitions: readonly TopicPartition[]
  /** The generation that it writes. */
  readonly generation: number | undefined
}

/** A result of polling and the time of its arrival. */
type Seen<T> = { readonly value: T; readonly atMs: number }

/** The newest known state of the whole replica, each part with its own time. */
export type Observed = {
  readonly group: Seen<GroupSurvey & { readonly recordsPerSecond: number | undefined }> | undefined
  /** The newest known watermark. */
  readonly watermarkMs: number | undefined
  readonly marks: PublishedWatermark['partitionWatermarks']
  readonly redisMemory: Seen<RedisMemory> | undefined
  readonly indices: Seen<readonly IndexSurvey[]> | undefined
}

const groupEveryMs = 5_000
const redisEveryMs = 5_000
/** Index statistics are expensive for Elasticsearch and change slowly. */
const indicesEveryMs = 30_000
/** An older survey no longer counts as the current state. */
const staleMs = 3 * groupEveryMs

/** Polls Kafka, Redis and Elasticsearch until `signal` aborts, too rarely to burden them. Returns what tells the newest known state. */
export function observe(
  from: {
    readonly config: Config
    /** A source of its own: reading from it fails as long as any topic is missing. */
    readonly source: KafkaSource
    readonly elasticsearch: Client
    readonly redis: RedisConnection
    own(): OwnState
  },
  { clock, signal }: { readonly clock: () => number; readonly signal: AbortSignal },
): () => Observed {
  const { config, source, elasticsearch, redis, own } = from
  const every = (everyMs: number) => ({ everyMs, clock, signal })
  let before: Seen<GroupSurvey> | undefined
  const group = poll(async () => {
    const { generation } = own()
    if (generation === undefined) throw new Error('topics and indices are not prepared yet')
    const survey = await surveyGroup(source, config, generation)
    const now: Seen<GroupSurvey> = { value: survey, atMs: clock() }
    const recordsPerSecond = before === undefined ? undefined : rateOf(before, now)
    before = now
    return { ...survey, recordsPerSecond }
  }, every(groupEveryMs))
  const watermark = poll(() => readWatermark(redis), every(redisEveryMs))
  const redisMemory = poll(() => readRedisMemory(redis), every(redisEveryMs))
  const indices = poll((until) => surveyIndices(elasticsearch, config.INDEX_PREFIX, until), every(indicesEveryMs))
  return () => ({
    group: group(),
    watermarkMs: newest(own().watermarkMs, watermark()?.value.watermarkMs),
    marks: watermark()?.value.partitionWatermarks ?? new Map(),
    redisMemory: redisMemory(),
    indices: indices(),
  })
}

/** The newer of two watermarks: the greater one, because the watermark never decreases. */
const newest = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? (one ?? other) : Math.max(one, other)

const rateOf = (before: Seen<GroupSurvey>, after: Seen<GroupSurvey>): number =>
  (progressBetween(before.value, after.value) * 1_000) / Math.max(1, after.atMs - before.atMs)

/** How far a partition is behind, whichever indexer reads it, if any. */
export type PartitionLag = PartitionSurvey & {
  /** Age of the oldest record that is not visible at most; undefined when the partition has no watermark, as account keys. */
  readonly behindSeconds: number | undefined
}

/** The lag of every partition at the time of a survey. It grows while Redis, or whoever should read the partition, is away. */
export const lagsOf = (
  { value: { partitions }, atMs }: Seen<Pick<GroupSurvey, 'partitions'>>,
  marks: Observed['marks'],
): readonly PartitionLag[] =>
  partitions.map((each) => {
    const markMs = marks.get(partitionName(each))
    const known = markMs === undefined ? undefined : Math.max(0, atMs - markMs) / 1_000
    return { ...each, behindSeconds: each.behindRecords === 0 ? 0 : known }
  })

/** The lags as they are now; none while Kafka tells nothing. */
export const currentLags = ({ group, marks }: Observed, nowMs: number): readonly PartitionLag[] =>
  group !== undefined && nowMs - group.atMs <= staleMs ? lagsOf(group, marks) : []

/** The longest time that a failed poll waits before its next try. */
const retryMs = 5_000

/**
 * Calls `ask` every `everyMs`, one call at a time, until `signal` aborts. The function it returns gives the newest result, which
 * outlives later failures, and undefined before the first.
 */
function poll<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  { everyMs, clock, signal }: { everyMs: number; clock: () => number; signal: AbortSignal },
): () => Seen<T> | undefined {
  let latest: Seen<T> | undefined
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      const value = await ask(signal).catch(() => undefined)
      if (value !== undefined) latest = { value, atMs: clock() }
      await sleep(value === undefined ? Math.min(retryMs, everyMs) : everyMs, undefined, { signal, ref: false })
    }
  }
  // `sleep` rejects when the signal aborts, which ends the loop.
  run().catch(() => undefined)
  return () => latest
}
