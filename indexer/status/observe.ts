import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '@elastic/elasticsearch'
import type { KafkaSource } from '../../src/core/kafka/source.ts'
import { partitionName } from '../../src/core/kafka/sourceRecord.ts'
import type { Config } from '../../src/core/process/config.ts'
import { type RedisConnection, type RedisMemory, readRedisMemory } from '../../src/core/stores/redis.ts'
import type { RedisKeys } from '../../src/core/stores/redisKeys.ts'
import { type PublishedWatermark, readWatermark } from '../../src/core/stores/watermark.ts'
import { type GroupSurvey, type PartitionSurvey, progressBetween, surveyGroup } from './groupSurvey.ts'
import { type IndexSurvey, surveyIndices } from './indexSurvey.ts'

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

/** The figures at one time; undefined when unknown. */
export type Sample = {
  readonly atMs: number
  readonly watermarkAgeSeconds: number | undefined
  readonly behindRecords: number | undefined
  readonly recordsPerSecond: number | undefined
  readonly deadLetters: number | undefined
}

const sampleEveryMs = 5_000
export const historyMs = 15 * 60_000
const maxSamples = historyMs / sampleEveryMs

export type Observer = { observed(): Observed; samples(): readonly Sample[] }

const groupEveryMs = 5_000
const redisEveryMs = 5_000
/** Index statistics are expensive for Elasticsearch and change slowly. */
const indicesEveryMs = 30_000
/** An older survey no longer counts as the current state. */
const staleMs = 3 * groupEveryMs

/** Polls Kafka, Redis and Elasticsearch until `signal` aborts, too rarely to burden them. */
export function observe(
  from: {
    readonly config: Config
    /** A source of its own: reading from it fails as long as any topic is missing. */
    readonly source: KafkaSource
    readonly elasticsearch: Client
    readonly redis: RedisConnection
    readonly keys: RedisKeys
    /** The generation that is written; undefined until topics and indices are prepared. */
    serving(): number | undefined
    /** The watermark that this indexer published last. */
    watermarkMs(): number | undefined
  },
  { clock, signal }: { readonly clock: () => number; readonly signal: AbortSignal },
): Observer {
  const { config, source, elasticsearch, redis, keys, serving, watermarkMs } = from
  const every = (everyMs: number) => ({ everyMs, clock, signal })
  let before: Seen<GroupSurvey> | undefined
  const group = poll(async () => {
    const number = serving()
    if (number === undefined) throw new Error('topics and indices are not prepared yet')
    const survey = await surveyGroup(source, config, number)
    const now: Seen<GroupSurvey> = { value: survey, atMs: clock() }
    const recordsPerSecond = before === undefined ? undefined : rateOf(before, now)
    before = now
    return { ...survey, recordsPerSecond }
  }, every(groupEveryMs))
  const watermark = poll(() => readWatermark(redis, keys), every(redisEveryMs))
  const redisMemory = poll(() => readRedisMemory(redis), every(redisEveryMs))
  const indices = poll((until) => surveyIndices(elasticsearch, config.INDEX_PREFIX, until), every(indicesEveryMs))
  const observed = (): Observed => ({
    group: group(),
    watermarkMs: newest(watermarkMs(), watermark()?.value.watermarkMs),
    marks: watermark()?.value.partitionWatermarks ?? new Map(),
    redisMemory: redisMemory(),
    indices: indices(),
  })

  const history = new History()
  const timer = setInterval(() => history.add(sampleOf(observed(), clock())), sampleEveryMs).unref()
  signal.addEventListener('abort', () => clearInterval(timer), { once: true })
  return { observed, samples: () => history.samples() }
}

/** The newer of two watermarks: the greater one, because the watermark never decreases. */
const newest = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? (one ?? other) : Math.max(one, other)

const rateOf = (before: Seen<GroupSurvey>, after: Seen<GroupSurvey>): number =>
  (progressBetween(before.value, after.value) * 1_000) / Math.max(1, after.atMs - before.atMs)

/** The current figures. The watermark's age keeps growing while no newer watermark can be read. */
export function sampleOf({ group, watermarkMs }: Observed, nowMs: number): Sample {
  const current = group !== undefined && nowMs - group.atMs <= staleMs ? group.value : undefined
  return {
    atMs: nowMs,
    watermarkAgeSeconds: watermarkMs === undefined ? undefined : Math.max(0, nowMs - watermarkMs) / 1_000,
    behindRecords: current?.partitions.reduce((sum, { behindRecords }) => sum + behindRecords, 0),
    recordsPerSecond: current?.recordsPerSecond,
    deadLetters: current?.deadLetters,
  }
}

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

/** The samples of the last 15 minutes. */
export class History {
  readonly #samples: Sample[] = []

  add(sample: Sample): void {
    this.#samples.push(sample)
    if (this.#samples.length > maxSamples) this.#samples.shift()
  }

  /** Oldest first. */
  samples(): readonly Sample[] {
    return this.#samples
  }
}

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
