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

/** Members may be undefined while no generation is open. */
export type OwnState = {
  readonly maxInFlightBytes: number
  readonly inFlightBytes: number
  readonly watermarkMs: number | undefined
  readonly clockOffsetMs: number | undefined
  /** See `BulkWriter.blockedMs`. */
  readonly writerBlockedMs: number
  /** The owned partitions. `isPaused`: the next record batch cannot be decoded, or the breaker of the topic pauses records. */
  readonly partitions: readonly (TopicPartition & { readonly isPaused: boolean })[]
  readonly generation: number | undefined
}

export const stateOf = (config: Config, { current }: GenerationRunner, deadLetters: DeadLetterWriter): OwnState => ({
  maxInFlightBytes: config.MAX_IN_FLIGHT_BYTES,
  inFlightBytes: current?.pipeline.consumer.inFlightBytes ?? 0,
  watermarkMs: current?.written.watermarkMs,
  clockOffsetMs: current?.pipeline.publisher.clockOffsetMs,
  writerBlockedMs: current?.pipeline.writer.blockedMs() ?? 0,
  partitions: (current?.pipeline.consumer.assigned() ?? []).map(({ topic, partition, undecodable }) => ({
    topic,
    partition,
    isPaused: deadLetters.isPaused(topic) || undecodable !== undefined,
  })),
  generation: current?.written.generation.number,
})

/** `atMs`: the time of arrival (epoch ms). */
type Answer<T> = { readonly value: T; readonly atMs: number }

type RedisMemory = { readonly usedBytes: number; readonly limitBytes: number | undefined }

/** The state of the whole replica. Each part is undefined until it was read once. */
export type Observed = {
  readonly group: Answer<GroupSurvey> | undefined
  readonly watermarkMs: number | undefined
  readonly visibleMs: VisibleMs
  readonly redisMemory: Answer<RedisMemory> | undefined
  readonly indices: Answer<readonly IndexSize[]> | undefined
}

const pollMs = 5_000
/** The interval (ms) of index statistics, which are expensive for Elasticsearch, and change slowly. */
const indicesPollMs = 30_000
/** Metrics leave out lags of a survey that is older (ms). */
const staleMs = 3 * pollMs
const requestTimeoutMs = 10_000

type ObserveOptions = Stores & {
  /** Only the status uses this source: queries of the status fail while a topic is missing, and must not delay the indexer's queries. */
  readonly source: KafkaSource
  own(): OwnState
}

/** Polls the engines until `signal` aborts. The returned function returns the newest state. */
export function observe(
  { config, source, elasticsearch, redis, own }: ObserveOptions,
  { clock, signal }: { readonly clock: () => number; readonly signal: AbortSignal },
): () => Observed {
  /** Repeats a query, one call at a time. Returns a function that returns the newest result. */
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
  const group = poll(async () => {
    const { generation } = own()
    if (generation === undefined) throw new Error('topics and indices are not prepared yet')
    return await surveyGroup(source, config, generation)
  })
  const visible = poll(() => readVisibleTimes(redis))
  const redisMemory = poll(() => readRedisMemory(redis))
  const indices = poll(() => surveyIndices(elasticsearch, config.INDEX_PREFIX, signal), indicesPollMs)
  return () => {
    // The watermark never decreases: the greater value is newer.
    const watermarks = [own().watermarkMs, visible()?.value.watermarkMs].filter((ms) => ms !== undefined)
    return {
      group: group(),
      watermarkMs: watermarks.length === 0 ? undefined : Math.max(...watermarks),
      visibleMs: visibleIn(config, visible()?.value),
      redisMemory: redisMemory(),
      indices: indices(),
    }
  }
}

/** Every record of the partition that was appended before this time (epoch ms) is searchable; undefined if no time is published. */
export type VisibleMs = (partition: TopicPartition) => number | undefined

const visibleIn = (config: Config, times: VisibleTimes | undefined): VisibleMs => {
  const documents = documentTopics(config)
  return ({ topic, partition }) =>
    documents.includes(topic) ? times?.timeMs(entityTypeIn(topic, config), partition) : undefined
}

type SurveyedPartition = TopicPartition & {
  readonly position: bigint
  readonly behindRecords: number
  readonly isOwned: boolean
}

export type GroupSurvey = {
  readonly partitions: readonly SurveyedPartition[]
  readonly indexers: number
  readonly deadLetters: number
  /** A rebuild that runs or was left unfinished. `progress`: the part of the records that it has processed, 0 to 1. */
  readonly rebuild: { readonly isRunning: boolean; readonly progress: number } | undefined
}

/** `serving`: the number of the generation that the indexers write. */
export async function surveyGroup(source: KafkaSource, config: Config, serving: number): Promise<GroupSurvey> {
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
    const position: bigint = commits.get(name)?.position ?? low
    const behindRecords = Math.max(0, Number(high - position))
    return { topic, partition, position, behindRecords, isOwned: owned.has(name) }
  })
  // Other commits of the rebuild group are from a rebuild that has ended.
  const commitsOfRebuild = [...rebuilt].filter(([, { generation }]) => (readTag(generation)?.number ?? 0) > serving)
  const isRunning = rebuilding.length > 0
  return {
    partitions,
    indexers: members.length,
    deadLetters: [...letters.values()].reduce((sum, { low, high }) => sum + Number(high - low), 0),
    rebuild:
      isRunning || commitsOfRebuild.length > 0
        ? { isRunning, progress: progressOf(commitsOfRebuild, ends, config) }
        : undefined,
  }
}

function progressOf(
  commits: readonly (readonly [string, CommittedOffset])[],
  ends: OffsetRanges,
  config: Config,
): number {
  const documents = [...ends.values()].filter(({ topic }) => documentTopics(config).includes(topic))
  const total = documents.reduce((sum, { low, high }) => sum + Number(high - low), 0)
  const readRecords = commits.map(([name, { position }]) =>
    Math.max(0, Number(position - (ends.get(name)?.low ?? position))),
  )
  return total === 0 ? 1 : Math.min(1, readRecords.reduce((sum, records) => sum + records, 0) / total)
}

export type PartitionLag = SurveyedPartition & {
  /** An upper bound of the age of the oldest record that is not visible; undefined if no time is published (account keys). */
  readonly behindSeconds: number | undefined
}

/** The lags at the time of a survey. */
export const lagsOf = (
  { value: { partitions }, atMs }: Answer<GroupSurvey>,
  visibleMs: VisibleMs,
): readonly PartitionLag[] =>
  partitions.map((partition) => {
    const timeMs = visibleMs(partition)
    const ageSeconds = timeMs === undefined ? undefined : Math.max(0, atMs - timeMs) / 1_000
    return { ...partition, behindSeconds: partition.behindRecords === 0 ? 0 : ageSeconds }
  })

/** Empty if the last survey is too old, since Kafka does not answer. */
export const currentLags = ({ group, visibleMs }: Observed, nowMs: number): readonly PartitionLag[] =>
  group !== undefined && nowMs - group.atMs <= staleMs ? lagsOf(group, visibleMs) : []

type IndexSize = {
  readonly name: string
  readonly generation: number
  /** Tombstones included. */
  readonly documents: number
  /** The disk usage of all copies of its shards. */
  readonly bytes: number
}

export async function surveyIndices(client: Client, prefix: string, signal: AbortSignal): Promise<IndexSize[]> {
  const { indices = {} } = await client.indices.stats(
    {
      index: documentKinds.map((kind) => `${aliasOf(prefix, kind)}-v*`),
      metric: ['docs', 'store'],
      filter_path: 'indices.*.primaries.docs.count,indices.*.total.store.size_in_bytes',
    },
    { requestTimeout: requestTimeoutMs, signal },
  )
  const sizes = Object.entries(indices)
    .flatMap(([name, { primaries, total }]): IndexSize[] => {
      const generation = readPhysicalName(prefix, name)?.generation
      if (generation === undefined) return []
      const documents = primaries?.docs?.count ?? 0
      return [{ name, generation, documents, bytes: total?.store?.size_in_bytes ?? 0 }]
    })
    .sort((a, b) => a.generation - b.generation || a.name.localeCompare(b.name))
  if (sizes.length === 0) throw new Error('there are no indices yet')
  return sizes
}

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
