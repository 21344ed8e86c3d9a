import type { Client } from '@elastic/elasticsearch'
import type { Admin } from 'kafkajs'
import type { Config } from '../../src/core/process/config.ts'
import { type RedisConnection, type RedisMemory, readRedisMemory } from '../../src/core/stores/redis.ts'
import type { RedisKeys } from '../../src/core/stores/redisKeys.ts'
import { type PublishedWatermark, readWatermark } from '../../src/core/stores/watermark.ts'
import { type GroupSurvey, progressBetween, surveyGroup } from './groupSurvey.ts'
import { History, type Sample, sampleEveryMs } from './history.ts'
import { type IndexSurvey, surveyIndices } from './indexSurvey.ts'
import { poll, type Seen } from './poll.ts'

/** What is known of the whole replica, by its parts, each as it was seen last. */
export type Observed = {
  readonly group: Seen<GroupSurvey & { readonly recordsPerSecond: number | undefined }> | undefined
  /** The newest that is known. */
  readonly watermarkMs: number | undefined
  readonly marks: PublishedWatermark['partitionWatermarks']
  readonly redisMemory: Seen<RedisMemory> | undefined
  readonly indices: Seen<readonly IndexSurvey[]> | undefined
}

export type Observer = { observed(): Observed; samples(): readonly Sample[] }

const groupEveryMs = 5_000
const redisEveryMs = 5_000
/** Sizes cost Elasticsearch more than they change. */
const indicesEveryMs = 30_000
/** What was seen longer ago is not what is. */
const staleMs = 3 * groupEveryMs

/** Looks at Kafka, Redis and Elasticsearch until `signal` aborts, so rarely that nobody feels it. */
export function observe(
  from: {
    readonly config: Config
    /** A client of its own: what it cannot find must not keep others from theirs. */
    readonly admin: Admin
    readonly elasticsearch: Client
    readonly redis: RedisConnection
    readonly keys: RedisKeys
    /** The number of the generation that is written; undefined until topics and indices are prepared. */
    serving(): number | undefined
    /** The watermark that this indexer has published last. */
    watermarkMs(): number | undefined
  },
  { clock, signal }: { readonly clock: () => number; readonly signal: AbortSignal },
): Observer {
  const { config, admin, elasticsearch, redis, keys, serving, watermarkMs } = from
  const every = (everyMs: number) => ({ everyMs, clock, signal })
  let before: Seen<GroupSurvey> | undefined
  const group = poll(async () => {
    const number = serving()
    // KafkaJS asks for every topic it was once asked for, and fails as long as one of them is missing.
    if (number === undefined) throw new Error('topics and indices are not prepared yet')
    await admin.connect()
    const survey = await surveyGroup(admin, config, number)
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

/** It never goes back: the later one is true. */
const newest = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? (one ?? other) : Math.max(one, other)

const rateOf = (before: Seen<GroupSurvey>, after: Seen<GroupSurvey>): number =>
  (progressBetween(before.value, after.value) * 1_000) / Math.max(1, after.atMs - before.atMs)

/** The figures of now. The tidemark's age goes on growing while nobody can say how it stands. */
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
