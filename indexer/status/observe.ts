import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '@elastic/elasticsearch'
import type { Gauge, Registry } from 'prom-client'
import type { Config } from '../../src/core/config/config.ts'
import { aliasOf, documentKinds, readPhysicalName } from '../../src/core/elasticsearch/indices.ts'
import type { KafkaSource, OffsetRanges } from '../../src/core/kafka/source.ts'
import { partitionName, type TopicPartition } from '../../src/core/kafka/sourceRecord.ts'
import { metricsIn, type Sample } from '../../src/core/monitoring/metrics.ts'
import type { ContestedDigest } from '../../src/core/redis/accountKeyStore.ts'
import { readVisibleTimes, type VisibleTimes } from '../../src/core/redis/readVisiblePositions.ts'
import { readRedisMemory } from '../../src/core/redis/redis.ts'
import type { DeadLetterWriter } from '../deadLetters/deadLetters.ts'
import { readTag } from '../generations/generation.ts'
import type { GenerationRunner } from '../generations/generationRunner.ts'
import type { Stores } from '../generations/writtenGeneration.ts'
import { type CommittedOffset, fetchCommittedOffsets, rebuildGroup } from '../startOffsets.ts'
import { documentTopics, entityTypeIn, sourceTopics } from '../topics.ts'

export type OwnState = ReturnType<typeof stateOf>

/** The state of this indexer itself; what is undefined is not known yet. */
export const stateOf = (config: Config, { current }: GenerationRunner, deadLetters: DeadLetterWriter) => ({
  maxInFlightBytes: config.MAX_IN_FLIGHT_BYTES,
  inFlightBytes: current?.pipeline.consumer.inFlightBytes ?? 0,
  /** The watermark that it published last. */
  watermarkMs: current?.written.watermarkMs,
  /** How far its clock is ahead of that of Redis. */
  clockOffsetMs: current?.pipeline.publisher.clockOffsetMs,
  /** For how long the record that waits longest has not been stored; 0 when none waits after a failure. */
  writerBlockedMs: current?.pipeline.writer.blockedMs() ?? 0,
  /** Those that it owns; a paused one waits at an undecodable record batch, or for the breaker of its topic. */
  partitions: (current?.pipeline.consumer.assigned() ?? []).map(({ topic, partition, undecodable }) => ({
    ...{ topic, partition },
    isPaused: deadLetters.isPaused(topic) || undecodable !== undefined,
  })),
  /** The generation that it writes. */
  generation: current?.written.generation.number,
})

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
  const visible = poll(() => readVisibleTimes(redis))
  const redisMemory = poll(() => readRedisMemory(redis))
  const indices = poll(() => surveyIndices(elasticsearch, config.INDEX_PREFIX, signal), indicesPollMs)
  return () => {
    // The greater one is the newer, because the watermark never decreases.
    const known = [own().watermarkMs, visible()?.value.watermarkMs].filter((ms) => ms !== undefined)
    return {
      group: group(),
      watermarkMs: known.length === 0 ? undefined : Math.max(...known),
      visibleMs: visibleIn(config, visible()?.value),
      redisMemory: redisMemory(),
      indices: indices(),
    }
  }
}

/** Before which time (epoch ms) everything that was appended to a partition is searchable; undefined if that is not published. */
export type VisibleMs = (of: TopicPartition) => number | undefined

const visibleIn = (config: Config, times: VisibleTimes | undefined): VisibleMs => {
  const documents = documentTopics(config)
  return ({ topic, partition }) =>
    documents.includes(topic) ? times?.timeMs(entityTypeIn(topic, config), partition) : undefined
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
  // The commits of a finished rebuild name the generation that serves.
  const filled = [...rebuilt].filter(([, { generation }]) => (readTag(generation)?.number ?? 0) > serving)
  const isRunning = rebuilding.length > 0
  return {
    partitions,
    indexers: members.length,
    /** Those that Kafka still keeps. */
    deadLetters: [...letters.values()].reduce((sum, { low, high }) => sum + Number(high - low), 0),
    /** The rebuild that runs, or was left unfinished; undefined if there is none. */
    rebuild: isRunning || filled.length > 0 ? { isRunning, progress: progressOf(filled, ends, config) } : undefined,
  }
}

/** The share of all records that a rebuild has processed. */
function progressOf(filled: readonly (readonly [string, CommittedOffset])[], ends: OffsetRanges, config: Config) {
  const documents = [...ends.values()].filter(({ topic }) => documentTopics(config).includes(topic))
  const total = documents.reduce((sum, { low, high }) => sum + Number(high - low), 0)
  const read = filled.map(([name, { position }]) => Math.max(0, Number(position - (ends.get(name)?.low ?? position))))
  return total === 0 ? 1 : Math.min(1, read.reduce((sum, each) => sum + each, 0) / total)
}

export type PartitionLag = ReturnType<typeof lagsOf>[number]

/**
 * The lag of every partition at the time of a survey. It grows while Redis, or whoever should read the partition, is away. `behindSeconds`: the age
 * of the oldest record that is not visible at most; undefined when no such time is published, as of account keys.
 */
export const lagsOf = ({ value: { partitions }, atMs }: Seen<GroupSurvey>, visibleMs: VisibleMs) =>
  partitions.map((each) => {
    const timeMs = visibleMs(each)
    const known = timeMs === undefined ? undefined : Math.max(0, atMs - timeMs) / 1_000
    return { ...each, behindSeconds: each.behindRecords === 0 ? 0 : known }
  })

/** The lags as they are now; none while Kafka tells nothing. */
export const currentLags = ({ group, visibleMs }: Observed, nowMs: number): readonly PartitionLag[] =>
  group !== undefined && nowMs - group.atMs <= staleMs ? lagsOf(group, visibleMs) : []

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

/** The metrics of one indexer, `own`, and of the state that all indexers share and report, `observed`. */
export function indexerMetrics(
  registry: Registry,
  own: () => OwnState,
  observed: () => Observed,
  contested: () => readonly ContestedDigest[],
  clock: () => number,
): void {
  const { gauge, labelledGauge } = metricsIn(registry)
  const seconds = (ms: number | undefined): Sample[1] => (ms === undefined ? undefined : ms / 1_000)

  gauge('tidemark_in_flight_bytes', 'Bytes of records in flight; a value counts three times', () => own().inFlightBytes)
  gauge('tidemark_in_flight_limit_bytes', 'MAX_IN_FLIGHT_BYTES', () => own().maxInFlightBytes)
  const blocked = 'How long the record that waits longest could not be written to Elasticsearch; 0 if none waits'
  gauge('tidemark_write_blocked_seconds', blocked, () => seconds(own().writerBlockedMs))
  const offset = 'How far the clock of this indexer is ahead of the clock of Redis; the slower one limits the watermark'
  gauge('tidemark_clock_offset_seconds', offset, () => seconds(own().clockOffsetMs))
  gauge('tidemark_watermark_age_seconds', 'Age of the watermark that this indexer published last', () => {
    const { watermarkMs } = own()
    return watermarkMs === undefined ? undefined : Math.max(0, clock() - watermarkMs) / 1_000
  })

  const perPartition = (name: string, help: string, of: 'behindRecords' | 'behindSeconds'): Gauge =>
    labelledGauge(name, help, ['topic', 'partition'], () =>
      currentLags(observed(), clock()).map((lag) => [{ topic: lag.topic, partition: lag.partition }, lag[of]]),
    )
  perPartition('tidemark_lag_records', 'Offsets from the searchable position to the end', 'behindRecords')
  perPartition('tidemark_lag_seconds', 'Age of the oldest record that is not searchable; 0 if none', 'behindSeconds')
  const paused = '1 while the indexer has paused the partition, which it owns, else 0'
  labelledGauge('tidemark_partition_paused', paused, ['topic', 'partition'], () =>
    own().partitions.map(({ topic, partition, isPaused }): Sample => [{ topic, partition }, Number(isPaused)]),
  )
  const perIndex = (name: string, help: string, of: 'documents' | 'bytes'): Gauge =>
    labelledGauge(name, help, ['index'], () =>
      (observed().indices?.value ?? []).map((index) => [{ index: index.name }, index[of]]),
    )
  perIndex('tidemark_index_documents', 'Documents of an index, tombstones included', 'documents')
  perIndex('tidemark_index_bytes', 'Disk usage of an index, replicas included', 'bytes')
  gauge('tidemark_dead_letters', 'Dead letters in their topic', () => observed().group?.value.deadLetters)
  gauge('tidemark_rebuild_running', '1 while a rebuild is running, else 0', () => {
    const { group } = observed()
    return group && Number(group.value.rebuild?.isRunning ?? false)
  })
  const progress = 'Share of the records that the generation of a rebuild holds; absent without a rebuild'
  gauge('tidemark_rebuild_progress_ratio', progress, () => observed().group?.value.rebuild?.progress)
  gauge('tidemark_redis_memory_bytes', 'Memory that Redis uses', () => observed().redisMemory?.value.usedBytes)
  const limit = 'maxmemory of Redis; absent without one'
  gauge('tidemark_redis_memory_limit_bytes', limit, () => observed().redisMemory?.value.limitBytes)
  const contestedHelp = '1 for each live account key that opens nothing, because another one claims the same digest'
  labelledGauge('tidemark_contested_account_keys', contestedHelp, ['key'], () =>
    contested().flatMap(({ keys }) => keys.map((key): Sample => [{ key }, 1])),
  )
}
