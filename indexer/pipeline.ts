import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '@elastic/elasticsearch'
import type { Config } from '../src/core/config/config.ts'
import { partitionName, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import type { Offset } from '../src/core/model/ids.ts'
import { type CheckOutcome, problemIn } from '../src/core/monitoring/health.ts'
import type { RoundReply } from '../src/core/redis/visiblePositions.ts'
import type { AccountKeys } from './accountKeys.ts'
import type { AssignedPartition } from './assignedPartition.ts'
import { bulkBounds, bulkSender } from './bulk/bulkApi.ts'
import { BulkWriter } from './bulk/bulkWriter.ts'
import { checkLogs } from './checkLogs.ts'
import { type ReadOptions, SourceConsumer } from './consumer.ts'
import type { DeadLetterWriter } from './deadLetters/deadLetters.ts'
import type { Generation } from './generations/generation.ts'
import { logStateText } from './logReplacement.ts'
import { readLogStatesOfDocuments } from './logStatesOfDocuments.ts'
import type { PipelineMetrics } from './metrics.ts'
import { ProgressPublisher, type RoundResult } from './progressPublisher.ts'
import { RecordHandler } from './recordHandler.ts'
import { refreshEveryCopy } from './refreshEveryCopy.ts'
import type { VisibleRound } from './roundForRedis.ts'
import { fetchStartOffsets, formerLeaderMs, rebuildGroup, type StartOffset } from './startOffsets.ts'
import { documentPartitionsIn, documentTopics } from './topics.ts'

const refreshTimeoutMs = 30_000
/** How long (ms) a shutdown waits for the records in flight. */
const drainDeadlineMs = 4_000
/** How long (ms) it then waits for the last round. Later, the next owner reads the uncommitted records again. */
const lastPublishDeadlineMs = 3_000
const drainPollMs = 20

/** A rebuild writes no dead letters, applies no account keys, and serves nobody yet. */
type Serving = {
  readonly deadLetters: DeadLetterWriter
  readonly accountKeys: AccountKeys
  afterRound(published: RoundReply): Promise<RoundResult>
}

/** `partitionName` → `logStateText` of how far the generation was read. */
type LogStateStore = {
  store(logs: ReadonlyMap<string, string>): Promise<void>
  read(): Promise<ReadonlyMap<string, string>>
}

type PipelineOptions = ReadOptions & {
  readonly config: Config
  readonly elasticsearch: Client
  readonly generation: Generation
  /** Undefined for a rebuild. */
  readonly serving: Serving | undefined
  readonly metrics: PipelineMetrics
  readonly logStates: LogStateStore
  publishVisible(round: VisibleRound): Promise<RoundReply>
  redisTimeMs(): Promise<number>
  /** Called with an error that is a bug. */
  fail(error: unknown): void
}

/** `decoding` fails while a record batch cannot be decoded; each other part while it makes no progress. */
export type PipelineHealth = Readonly<Record<'writer' | 'publisher' | 'consumer' | 'decoding', CheckOutcome>>

/** Moves records from the topics into one generation: fetch, validate, write, refresh, publish, commit. */
export class Pipeline {
  readonly #options: PipelineOptions
  /** Ends retries, bulk requests, and waits of records at the end of `shutDown`. */
  readonly #stopWriting = new AbortController()
  readonly writer: BulkWriter
  readonly consumer: SourceConsumer
  readonly publisher: ProgressPublisher
  readonly #recordHandler: RecordHandler

  constructor(options: PipelineOptions) {
    this.#options = options
    this.writer = this.#createWriter()
    this.consumer = this.#createConsumer()
    this.publisher = this.#createPublisher()
    const { writer, publisher } = this
    this.#recordHandler = new RecordHandler({ ...options, writer, publisher, signal: this.#stopWriting.signal })
  }

  #createWriter(): BulkWriter {
    const { config, elasticsearch, generation, serving, metrics, log, fail } = this.#options
    const { signal } = this.#stopWriting
    return new BulkWriter({
      ...bulkSender(elasticsearch, generation, { metrics, signal, isRebuild: serving === undefined }),
      ...bulkBounds,
      maxRecordsPerSecond: config.MAX_RECORDS_PER_SECOND,
      elapsedMs: () => performance.now(),
      random: Math.random,
      signal,
      onBlocked: (failure) => {
        if (failure === undefined) log.info('documents are written again')
        else
          log.warn({ ...failure, reason: problemIn(this.writer.health()) }, 'documents cannot be written; trying again')
      },
      onFatal: fail,
    })
  }

  #createConsumer(): SourceConsumer {
    const { config, metrics } = this.#options
    return new SourceConsumer({
      ...this.#options,
      maxInFlightBytes: config.MAX_IN_FLIGHT_BYTES,
      startOffsets: (partitions) => this.#fetchStartOffsets(partitions),
      onRecord: (record, assigned, onProcessed) => this.#recordHandler.handle(record, assigned, onProcessed),
      onRebalance: () => metrics.rebalances.inc(),
      random: Math.random,
    })
  }

  async #fetchStartOffsets(partitions: readonly TopicPartition[]): Promise<ReadonlyMap<string, StartOffset>> {
    const { config, source, elasticsearch, topics, groupId, generation, serving, logStates } = this.#options
    const { signal } = this.#stopWriting
    return await fetchStartOffsets(source, partitions, {
      topics,
      groupId,
      rebuildGroupId: serving === undefined ? undefined : rebuildGroup(groupId),
      clock: Date.now,
      storedLogs: await logStates.read(),
      logStatesOfDocuments: (withoutState) =>
        readLogStatesOfDocuments(elasticsearch, generation, documentPartitionsIn(withoutState, config), { signal }),
      generationOf: (topic) => (documentTopics(config).includes(topic) ? generation : undefined),
      patience: { ms: formerLeaderMs, signal },
    })
  }

  #createPublisher(): ProgressPublisher {
    const { config, source, elasticsearch, topics, generation, serving, metrics, log } = this.#options
    return new ProgressPublisher({
      consumer: this.consumer,
      offsetRanges: () => source.offsetRanges(topics),
      refresh: async () => {
        const stopTimer = metrics.refreshSeconds.startTimer()
        const requestOptions = { requestTimeout: refreshTimeoutMs }
        await refreshEveryCopy(elasticsearch, Object.values(generation.indices), requestOptions).finally(stopTimer)
      },
      publishVisible: this.#options.publishVisible,
      tag: generation.tag,
      redisTimeMs: this.#options.redisTimeMs,
      afterRound: serving?.afterRound ?? (async () => 'continue'),
      isBehind: () => this.consumer.inFlightBytes > config.MAX_IN_FLIGHT_BYTES / 2,
      clock: Date.now,
      elapsedMs: () => performance.now(),
      log,
    })
  }

  /** Runs until `signal` aborts, or another generation must be written. Stays in the group, for `shutDown`. */
  async run(signal: AbortSignal): Promise<void> {
    const reading = this.consumer.run()
    await this.publisher.run(signal)
    this.consumer.stopFetching()
    await reading
  }

  /** Drains the records in flight, publishes and commits the last progress, and leaves the group. */
  async shutDown(): Promise<void> {
    this.consumer.stopFetching()
    const deadline = AbortSignal.timeout(drainDeadlineMs)
    while (this.consumer.inFlightBytes > 0 && this.writer.health().ok && !deadline.aborted) await sleep(drainPollMs)
    try {
      if (this.consumer.assigned().length > 0)
        await Promise.race([this.publisher.publish(), sleep(lastPublishDeadlineMs, undefined, { ref: false })])
    } finally {
      this.#stopWriting.abort()
      await this.consumer.leave()
    }
  }

  /** Checks whether the generation was read from the present logs, and reads a replaced log from its first offset. Rejects if Kafka does not answer. */
  async checkLogs(): Promise<void> {
    const { source, generation, logStates, log } = this.#options
    const partitions = this.documentPartitions()
    const replaced = await checkLogs(source, partitions, () => performance.now())
    if (replaced.length > 0) {
      const names = replaced.map(partitionName)
      const problem = 'logs were replaced since the generation was read from them: a rebuild is needed'
      log.error({ partitions: names, generation: generation.number }, problem)
      await this.#readAgain(replaced)
    }
    const confirmedStates = new Map<string, string>()
    for (const partition of partitions) {
      const state = partition.log.confirmedState()
      if (state !== undefined) confirmedStates.set(partitionName(partition), logStateText(state))
    }
    await logStates.store(confirmedStates)
  }

  async #readAgain(replaced: readonly AssignedPartition[]): Promise<void> {
    const ranges = await this.#options.source.offsetRanges([...new Set(replaced.map(({ topic }) => topic))])
    const toRead = replaced.flatMap((partition) => {
      const low = ranges.get(partitionName(partition))?.low ?? 0n
      const { position, log: logAtStart } = partition.start
      // The present assignment began at the first offset, although earlier ones had read beyond it.
      const isReadFromStart = position <= low && logAtStart.prefixes.some(({ below }) => below > position)
      return isReadFromStart ? [] : [{ partition, low: low as Offset }]
    })
    await this.publisher.readAgain(toRead)
  }

  documentPartitions(): readonly AssignedPartition[] {
    const topics = documentTopics(this.#options.config)
    return this.consumer.assigned().filter(({ topic }) => topics.includes(topic))
  }

  /** `partitionName` → the offset after the last rejected record. Only filled in a rebuild. */
  get rejectedBelow(): ReadonlyMap<string, bigint> {
    return this.#recordHandler.rejectedBelow
  }

  health(): PipelineHealth {
    return {
      writer: this.writer.health(),
      publisher: this.publisher.health,
      consumer: this.consumer.health(),
      decoding: this.consumer.decodingHealth(),
    }
  }
}
