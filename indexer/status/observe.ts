import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '@elastic/elasticsearch'
import type { KafkaSource, OffsetRanges } from '../../src/core/kafka/source.ts'
import { partitionName, type TopicPartition } from '../../src/core/kafka/sourceRecord.ts'
import type { Config } from '../../src/core/process/config.ts'
import { aliasOf, documentKinds, readPhysicalName } from '../../src/core/stores/indices.ts'
import { readRedisMemory } from '../../src/core/stores/redis.ts'
import { type PartitionWatermarks, readWatermark } from '../../src/core/stores/watermark.ts'
import { readTag } from '../generations/generations.ts'
import type { Stores } from '../generations/writtenGeneration.ts'
import { type CommittedOffset, fetchCommittedOffsets, rebuildGroup } from '../startOffsets.ts'
import { documentTopics, sourceTopics } from '../topics.ts'

/** The state of this indexer itself; what is undefined is not known yet. */
export type OwnState = {
  readonly maxInFlightBytes: number
  readonly inFlightBytes: number
  /** The watermark that it published last. */
  readonly watermarkMs: number | undefined
  /** How far its clock is ahead of that of Redis. */
  readonly clockOffsetMs: number | undefined
  /** For how long the record that waits longest has not been stored; 0 when none waits after a failure. */
  readonly writerBlockedMs: number
  /** Those that it owns; a paused one waits at an undecodable record batch, or for the breaker of its topic. */
  readonly partitions: readonly (TopicPartition & { readonly isPaused: boolean })[]
  /** The generation that it writes. */
  readonly generation: number | undefined
}

/** A result of polling and the time of its arrival. */
type Seen<T> = { readonly value: T; readonly atMs: number }

/** The newest known state of the whole replica, each part with its own time. */
export type Observed = ReturnType<ReturnType<typeof observe>>

/** Between two questions to Kafka or Redis, and after one without an answer. */
const pollMs = 5_000
/** Index statistics are expensive for Elasticsearch and change slowly. */
const indicesPollMs = 30_000
/** An older survey no longer counts as the current state. */
const staleMs = 3 * pollMs
const requestTimeoutMs = 10_000

/** Polls Kafka, Redis and Elasticsearch until `signal` aborts. Returns what tells the newest known state. */
export function observe(
  from: Stores & {
    /** A source of its own: reading from it fails as long as any topic is missing. */
    readonly source: KafkaSource
    own(): OwnState
  },
  { clock, signal }: { readonly clock: () => number; readonly signal: AbortSignal },
) {
  const { config, source, elasticsearch, redis, own } = from
  /** Asks again and again, one call at a time. The newest answer outlives later failures. */
  const poll = <T>(ask: () => Promise<T>, everyMs = pollMs): (() => Seen<T> | undefined) => {
    let latest: Seen<T> | undefined
    const run = async (): Promise<void> => {
      while (!signal.aborted) {
        const value = await ask().catch(() => undefined)
        if (value !== undefined) latest = { value, atMs: clock() }
        await sleep(value === undefined ? pollMs : everyMs, undefined, { signal, ref: false })
      }
    }
    // `sleep` rejects when the signal aborts, which ends the loop.
    run().catch(() => undefined)
    return () => latest
  }
  const group = poll(async () => {
    const { generation } = own()
    if (generation === undefined) throw new Error('topics and indices are not prepared yet')
    return await surveyGroup(source, config, generation)
  })
  const watermark = poll(() => readWatermark(redis))
  const redisMemory = poll(() => readRedisMemory(redis))
  const indices = poll(() => surveyIndices(elasticsearch, config.INDEX_PREFIX, signal), indicesPollMs)
  return () => {
    // The greater one is the newer, because the watermark never decreases.
    const known = [own().watermarkMs, watermark()?.value.watermarkMs].filter((ms) => ms !== undefined)
    return {
      group: group(),
      watermarkMs: known.length === 0 ? undefined : Math.max(...known),
      marks: watermark()?.value.partitionWatermarks ?? (new Map() as PartitionWatermarks),
      redisMemory: redisMemory(),
      indices: indices(),
    }
  }
}

/** What Kafka knows about the whole consumer group. */
export type GroupSurvey = Awaited<ReturnType<typeof surveyGroup>>

/** Reads the group's progress from Kafka; `serving` is the generation that its commits belong to. */
export async function surveyGroup(source: KafkaSource, config: Config, serving: number) {
  const { CONSUMER_GROUP: groupId, TOPIC_DEAD_LETTERS: deadLetters } = config
  const rebuildGroupId = rebuildGroup(groupId)
  const [ends, commits, rebuilt, letters, members, rebuilding] = await Promise.all([
    source.offsetRanges(sourceTopics(config)),
    fetchCommittedOffsets(source, groupId, sourceTopics(config)),
    fetchCommittedOffsets(source, rebuildGroupId, documentTopics(config)),
    source.offsetRanges([deadLetters]),
    source.groupMembers(groupId),
    source.groupMembers(rebuildGroupId),
  ])
  const owned = new Set(members.flat().map(partitionName))
  const partitions = [...ends].map(([name, { topic, partition, low, high }]) => {
    // The first offset that is not processed, whichever indexer owns the partition, if any.
    const position: bigint = commits.get(name)?.position ?? low
    const behindRecords = Math.max(0, Number(high - position))
    return { topic, partition, position, behindRecords, isOwned: owned.has(name) }
  })
  return {
    partitions,
    indexers: members.length,
    /** Those that Kafka still keeps. */
    deadLetters: [...letters.values()].reduce((sum, { low, high }) => sum + Number(high - low), 0),
    rebuild: rebuildOf(ends, rebuilt, documentTopics(config), rebuilding.length > 0, serving),
  }
}

/**
 * The rebuild that runs, or was left unfinished; undefined if there is none. Its commits name a newer generation than the one that serves;
 * those of a finished rebuild name the one that serves.
 */
function rebuildOf(
  ends: OffsetRanges,
  rebuilt: ReadonlyMap<string, CommittedOffset>,
  topics: readonly string[],
  isRunning: boolean,
  serving: number,
) {
  const isNewer = ({ generation }: CommittedOffset): boolean => (readTag(generation)?.number ?? 0) > serving
  const isUnderWay = [...rebuilt.values()].some(isNewer)
  if (!isRunning && !isUnderWay) return undefined
  let [done, total] = [0, 0]
  for (const [name, { topic, low, high }] of ends) {
    if (!topics.includes(topic)) continue
    const commit = rebuilt.get(name)
    total += Number(high - low)
    if (commit !== undefined && isNewer(commit)) done += Math.max(0, Number(commit.position - low))
  }
  // The share of all records that it has processed.
  return { isRunning, progress: total === 0 ? 1 : Math.min(1, done / total) }
}

export type PartitionLag = ReturnType<typeof lagsOf>[number]

/**
 * The lag of every partition at the time of a survey. It grows while Redis, or whoever should read the partition, is away. `behindSeconds`: the age
 * of the oldest record that is not visible at most; undefined when the partition has no watermark, as account keys.
 */
export const lagsOf = (
  { value: { partitions }, atMs }: Seen<Pick<GroupSurvey, 'partitions'>>,
  marks: PartitionWatermarks,
) =>
  partitions.map((each) => {
    const markMs = marks.get(partitionName(each))
    const known = markMs === undefined ? undefined : Math.max(0, atMs - markMs) / 1_000
    return { ...each, behindSeconds: each.behindRecords === 0 ? 0 : known }
  })

/** The lags as they are now; none while Kafka tells nothing. */
export const currentLags = ({ group, marks }: Observed, nowMs: number): readonly PartitionLag[] =>
  group !== undefined && nowMs - group.atMs <= staleMs ? lagsOf(group, marks) : []

/** Reads the sizes of all indices of a prefix, of every generation, from Elasticsearch. Rejects while there are none. */
export async function surveyIndices(client: Client, prefix: string, signal: AbortSignal) {
  const { indices = {} } = await client.indices.stats(
    {
      index: documentKinds.map((kind) => `${aliasOf(prefix, kind)}-v*`),
      metric: ['docs', 'store'],
      filter_path: 'indices.*.primaries.docs.count,indices.*.total.store.size_in_bytes',
    },
    { requestTimeout: requestTimeoutMs, signal },
  )
  const found = Object.entries(indices)
    .flatMap(([name, { primaries, total }]) => {
      const generation = readPhysicalName(prefix, name)?.generation
      // Documents with the tombstones of deleted entities, bytes of all shard copies together.
      const [documents, bytes] = [primaries?.docs?.count ?? 0, total?.store?.size_in_bytes ?? 0]
      return generation === undefined ? [] : [{ name, generation, documents, bytes }]
    })
    .sort((a, b) => a.generation - b.generation || a.name.localeCompare(b.name))
  if (found.length === 0) throw new Error('there are no indices yet')
  return found
}
