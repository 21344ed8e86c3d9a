import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../../src/core/config/config.ts'
import type { KafkaSource } from '../../src/core/kafka/source.ts'
import type { TopicPartition } from '../../src/core/kafka/sourceRecord.ts'
import { toInstant } from '../../src/core/model/instant.ts'
import { type Followers, readFollowers } from '../../src/core/redis/readFollowers.ts'
import { readVisibleTimes, type VisibleTimes } from '../../src/core/redis/readVisiblePositions.ts'
import { type ReportedRebuild, readRebuildProgress } from '../../src/core/redis/rebuildProgress.ts'
import { type RedisMemory, readRedisMemory } from '../../src/core/redis/redis.ts'
import type { Stores } from '../generations/writtenGeneration.ts'
import { documentTopics, entityTypeIn } from '../topics.ts'
import type { OwnState } from './ownState.ts'
import { ProgressWatch, type WatchedGroup, type WatchedPartition } from './progressWatch.ts'
import { surveyGroup } from './surveyGroup.ts'
import { type IndexSize, surveyIndices } from './surveyIndices.ts'

/** `atMs`: the time of arrival (epoch ms). */
export type Answer<T> = { readonly value: T; readonly atMs: number }

/** Undefined until read once. */
export type Observed = {
  readonly group: Answer<WatchedGroup> | undefined
  readonly rebuild: Answer<{ readonly progress: ReportedRebuild | undefined }> | undefined
  readonly watermarkMs: number | undefined
  readonly visibleMs: VisibleMs
  readonly redisMemory: Answer<RedisMemory> | undefined
  readonly indices: Answer<readonly IndexSize[]> | undefined
}

export type Observer = {
  observed(): Observed
  /** The followers of the change feeds, read at most once a minute, and only on demand. Waits a second for the first answer. */
  followers(): Promise<Answer<Followers> | undefined>
}

const pollMs = 5_000
/** Index statistics are expensive for Elasticsearch, and change slowly. */
const indicesPollMs = 30_000
/** Lags of a survey that is older (ms) are not current. */
export const staleMs = 3 * pollMs
const followersEveryMs = 60_000
const followersDeadlineMs = 20_000
const followersPatienceMs = 1_000
const dayMs = 86_400_000
const maxFollowers = 10

type ObserveOptions = Stores & {
  /** Only for the status: its queries fail while a topic is missing, and must not delay the indexer's. */
  readonly source: KafkaSource
  own(): OwnState
}

type Timing = { readonly clock: () => number; readonly signal: AbortSignal }

export function observe({ config, source, elasticsearch, redis, own }: ObserveOptions, timing: Timing): Observer {
  const { clock, signal } = timing
  /** Repeats a query, one call at a time. The returned function returns the newest result. */
  const poll = <T>(query: () => Promise<T>, everyMs = pollMs): (() => Answer<T> | undefined) => {
    let latest: Answer<T> | undefined
    const run = async (): Promise<void> => {
      while (!signal.aborted) {
        const value = await query().catch(() => undefined)
        if (value !== undefined) latest = { value, atMs: clock() }
        await sleep(value === undefined ? pollMs : everyMs, undefined, { signal, ref: false })
      }
    }
    run().catch(() => undefined)
    return () => latest
  }
  const watch = new ProgressWatch()
  const group = poll(async () => {
    const { generation } = own()
    if (generation === undefined) throw new Error('topics and indices are not prepared yet')
    return watch.note(await surveyGroup(source, config, generation), clock())
  })
  const visible = poll(() => readVisibleTimes(redis))
  const rebuild = poll(async () => ({ progress: await readRebuildProgress(redis) }))
  const redisMemory = poll(() => readRedisMemory(redis))
  const indices = poll(() => surveyIndices(elasticsearch, config.INDEX_PREFIX, signal), indicesPollMs)
  const observed = (): Observed => {
    // The watermark never decreases: the greater value is newer.
    const watermarks = [own().watermarkMs, visible()?.value.watermarkMs].filter((ms) => ms !== undefined)
    return {
      group: group(),
      rebuild: rebuild(),
      watermarkMs: watermarks.length === 0 ? undefined : Math.max(...watermarks),
      visibleMs: visibleIn(config, visible()?.value),
      redisMemory: redisMemory(),
      indices: indices(),
    }
  }
  return { observed, followers: followersOnDemand(redis, timing) }
}

/** One pass at a time. */
function followersOnDemand(redis: Stores['redis'], { clock, signal }: Timing): Observer['followers'] {
  let latest: Answer<Followers> | undefined
  let running: Promise<void> | undefined
  const run = async (): Promise<void> => {
    const dayAgo = toInstant(clock() - dayMs)
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(followersDeadlineMs)])
    latest = { value: await readFollowers(redis, dayAgo, maxFollowers, deadline), atMs: clock() }
  }
  return async () => {
    if (latest === undefined || clock() - latest.atMs > followersEveryMs)
      running ??= run()
        .catch(() => undefined)
        .finally(() => {
          running = undefined
        })
    if (latest === undefined) await Promise.race([running, sleep(followersPatienceMs, undefined, { ref: false })])
    return latest
  }
}

/** Every record appended before this time (epoch ms) is searchable; undefined if no time is published. */
export type VisibleMs = (partition: TopicPartition) => number | undefined

const visibleIn = (config: Config, times: VisibleTimes | undefined): VisibleMs => {
  const documents = documentTopics(config)
  return ({ topic, partition }) =>
    documents.includes(topic) ? times?.timeMs(entityTypeIn(topic, config), partition) : undefined
}

export type PartitionLag = WatchedPartition & {
  /** An upper bound of the age of the oldest invisible record; undefined if no time is published (account keys). */
  readonly behindSeconds: number | undefined
}

export const lagsOf = (
  { value: { partitions }, atMs }: Answer<WatchedGroup>,
  visibleMs: VisibleMs,
): readonly PartitionLag[] =>
  partitions.map((partition) => {
    const timeMs = visibleMs(partition)
    const ageSeconds = timeMs === undefined ? undefined : Math.max(0, atMs - timeMs) / 1_000
    return { ...partition, behindSeconds: partition.behindRecords === 0 ? 0 : ageSeconds }
  })

export const currentLags = ({ group, visibleMs }: Observed, nowMs: number): readonly PartitionLag[] =>
  group !== undefined && nowMs - group.atMs <= staleMs ? lagsOf(group, visibleMs) : []
