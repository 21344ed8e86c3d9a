import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '@elastic/elasticsearch'
import type { Logger } from 'pino'
import type { KafkaSource } from '../src/core/kafka/source.ts'
import type { SourceRecord, TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import type { AccountKeyState } from '../src/core/model/accountKey.ts'
import type { RecordKey } from '../src/core/model/record.ts'
import type { Problem } from '../src/core/model/result.ts'
import type { Config } from '../src/core/process/config.ts'
import type { AccountKeyApplier } from './accountKeys/apply.ts'
import type { AssignedPartition } from './assignedPartition.ts'
import { Retries } from './backoff.ts'
import { ByteBudget } from './budget.ts'
import { bulkBounds, bulkSender } from './bulk/bulkApi.ts'
import type { BulkFailure } from './bulk/bulkFailure.ts'
import { BulkWriter } from './bulk/bulkWriter.ts'
import type { Outcome } from './bulk/job.ts'
import type { PartitionClaim } from './changeTimes.ts'
import { commitMetadata, fetchStartOffsets, type StartOffset } from './committedOffsets.ts'
import { SourceConsumer } from './consumer.ts'
import { type DeadLetterWriter, sameRevision } from './deadLetters/deadLetters.ts'
import type { Generation } from './generations/generations.ts'
import type { PipelineMetrics, RecordOutcome } from './metrics.ts'
import { type PendingMarks, PendingWrites } from './pendingWrites.ts'
import { projectRecord } from './projection.ts'
import { Publisher, type PublisherRedis } from './publisher.ts'
import { refreshEveryCopy } from './refresh.ts'
import { documentTopics } from './topics.ts'
import { announceRecord } from './tracing.ts'

const maxConcurrentRequests = 2
const refreshTimeoutMs = 30_000
const drainDeadlineMs = 4_000
/** After this time the group is left without a last commit: the next owner of the partitions reads again what was not committed. */
const lastPublishDeadlineMs = 3_000
const drainPollMs = 20

/** What a pipeline needs besides, when readers see its generation. */
type Serving = {
  /** The group of rebuilds: its committed offsets count where they name this generation. */
  readonly rebuildGroupId: string
  readonly deadLetters: DeadLetterWriter
  readonly accountKeys: AccountKeyApplier
  readonly redis: PublisherRedis & PendingMarks
}

type PipelineOptions = {
  readonly config: Config
  readonly source: KafkaSource
  readonly elasticsearch: Client
  /** The indices that are written. */
  readonly generation: Generation
  readonly groupId: string
  readonly topics: readonly string[]
  /** How long (ms) a topic keeps a deletion for certain. */
  keptMs(topic: string): number
  /** Claims partitions before their records are read. */
  claim(partitions: readonly TopicPartition[]): Promise<PartitionClaim>
  /** Whether another indexer has claimed the partition since `owner` did. */
  isDisplaced(owner: string, partition: TopicPartition): Promise<boolean>
  /** Undefined for a rebuild: nobody reads its generation, and the live indexer handles invalid records and account keys. */
  readonly serving: Serving | undefined
  readonly metrics: PipelineMetrics
  readonly log: Logger
  /** Called with the error when the pipeline stops because of a bug. */
  fail(error: unknown): void
}

/** Why a part of the pipeline makes no progress; a part without a problem is left out. */
export type BlockedReasons = Partial<Readonly<Record<'writer' | 'publisher' | 'consumer' | 'decoding', string>>>

/**
 * Moves records from the topics into one generation of indices: fetch, validate, write, refresh, commit. The bytes in flight are
 * bounded by `MAX_IN_FLIGHT_BYTES`.
 */
export class Pipeline {
  readonly #options: PipelineOptions
  readonly #writing = new AbortController()
  readonly budget: ByteBudget
  readonly writer: BulkWriter
  readonly consumer: SourceConsumer
  readonly publisher: Publisher
  readonly #pending: PendingWrites | undefined
  readonly #marking: Retries
  #isWriterBlocked = false

  constructor(options: PipelineOptions) {
    this.#options = options
    const { config, source, groupId, topics, generation, serving, metrics, log } = options
    this.budget = new ByteBudget(config.MAX_IN_FLIGHT_BYTES)
    this.#pending = serving && new PendingWrites({ marks: serving.redis, elapsedMs: () => performance.now() })
    this.#marking = new Retries(log, Math.random, this.#writing.signal)
    this.writer = new BulkWriter({
      ...bulkSender(options.elasticsearch, generation.indices, metrics, this.#writing.signal, () => this.#mark()),
      ...bulkBounds,
      maxConcurrentRequests,
      maxRecordsPerSecond: config.MAX_RECORDS_PER_SECOND,
      elapsedMs: () => performance.now(),
      random: Math.random,
      signal: this.#writing.signal,
      onBlocked: (failure) => this.#noteBlockedWriter(failure),
      onFatal: options.fail,
    })
    this.consumer = new SourceConsumer({
      source,
      groupId,
      topics,
      budget: this.budget,
      keptMs: (topic) => options.keptMs(topic),
      startOffsets: (partitions) => this.#startOffsets(partitions),
      claim: (partitions) => options.claim(partitions),
      isDisplaced: (owner, partition) => options.isDisplaced(owner, partition),
      onRecord: (record, changedAtMs, assigned, onProcessed) =>
        this.#process(record, changedAtMs, assigned, onProcessed),
      onRebalance: () => metrics.rebalances.inc(),
      log,
      random: Math.random,
    })
    this.publisher = new Publisher({
      assigned: () => this.consumer.assigned(),
      offsetRanges: () => source.offsetRanges(topics),
      refresh: () => this.#refresh(),
      commit: (commits) => this.consumer.commit(commits),
      commitMetadata: (start, coveredAtMs, promisedMs) =>
        commitMetadata(generation.tag, start.deadLetteredBelow, coveredAtMs, promisedMs),
      redis: serving?.redis,
      pending: this.#pending,
      isBehind: () => this.budget.takenBytes > this.budget.maxBytes / 2,
      rejoin: () => this.consumer.rejoin(),
      clock: Date.now,
      elapsedMs: () => performance.now(),
      log,
    })
  }

  /** Runs until `signal` aborts or the generation is retired. Then it stops fetching and keeps its partitions. */
  async run(signal: AbortSignal): Promise<void> {
    const reading = this.consumer.run()
    await this.publisher.run(signal)
    this.consumer.pause()
    await reading
  }

  /** Waits up to 4 s for the records in flight, publishes them within 3 s, and leaves the group. */
  async shutDown(): Promise<void> {
    this.consumer.pause()
    const deadline = AbortSignal.timeout(drainDeadlineMs)
    while (this.budget.takenBytes > 0 && this.blockedReasons().writer === undefined && !deadline.aborted)
      await sleep(drainPollMs)
    try {
      if (this.consumer.assigned().length > 0)
        await Promise.race([this.publisher.publish(), sleep(lastPublishDeadlineMs, undefined, { ref: false })])
    } finally {
      this.#writing.abort()
      await this.consumer.leave()
    }
  }

  blockedReasons(): BlockedReasons {
    const reasons = {
      writer: this.writer.blockedReason() ?? this.#marking.blockedReason(),
      publisher: this.publisher.blockedReason(),
      consumer: this.consumer.blockedReason(),
      decoding: this.consumer.undecodableReason(),
    }
    return Object.fromEntries(Object.entries(reasons).filter(([, reason]) => reason !== undefined))
  }

  #noteBlockedWriter(failure: BulkFailure | null): void {
    const { log } = this.#options
    if (failure !== null && !this.#isWriterBlocked)
      log.warn({ kind: failure.kind, reason: this.writer.blockedReason() }, 'documents cannot be written; trying again')
    if (failure === null && this.#isWriterBlocked) log.info('documents are written again')
    this.#isWriterBlocked = failure !== null
  }

  async #startOffsets(partitions: readonly TopicPartition[]): Promise<ReadonlyMap<string, StartOffset>> {
    const { config, source, topics, groupId, generation, serving } = this.#options
    const indexed = documentTopics(config)
    return await fetchStartOffsets(source, partitions, {
      topics,
      groupId,
      rebuildGroupId: serving?.rebuildGroupId,
      generationOf: (topic) => (indexed.includes(topic) ? generation : undefined),
      clock: Date.now,
    })
  }

  /** Calls `onProcessed` instead of returning a promise, because thousands of records are in flight. */
  #process(record: SourceRecord, changedAtMs: number, assigned: AssignedPartition, onProcessed: () => void): void {
    const { config, serving, metrics } = this.#options
    const finish = (outcome: RecordOutcome): void => {
      metrics.records.inc({ topic: record.topic, outcome })
      onProcessed()
    }
    const accept = (outcome: 'indexed' | 'stale'): void => {
      serving?.deadLetters.recordAccepted(record)
      finish(outcome)
    }
    const reject = async (problem: Problem): Promise<void> => {
      // Nothing from the record on is committed: whoever has the partition now reads it again, and writes its dead letter.
      if (!this.consumer.assigned().includes(assigned)) return finish('stale')
      if (problem === sameRevision) metrics.revisionConflicts.inc({ topic: record.topic })
      finish((await serving?.deadLetters.reject(record, problem, assigned.start, this.#writing.signal)) ?? 'stale')
    }
    const applyAccountKey = async (change: RecordKey & AccountKeyState): Promise<void> => {
      const applied = (await serving?.accountKeys.apply(change, record, this.#writing.signal)) ?? 'stale'
      return typeof applied === 'string' ? accept(applied) : await reject(applied)
    }
    const projection = projectRecord(record, changedAtMs, config)
    switch (projection.kind) {
      case 'invalid':
        this.#failUnlessDone(reject(projection.problem))
        break
      case 'account-key':
        this.#failUnlessDone(applyAccountKey(projection.change))
        break
      case 'documents': {
        const { documents, version, list } = projection
        const acknowledge = this.#pending?.submit(assigned, list)
        const announceOutcome = announceRecord(record, documents)
        const done = (outcome: Outcome): void => {
          announceOutcome(outcome.kind)
          this.publisher.noteWrite(list)
          acknowledge?.()
          if (outcome.kind === 'rejected') this.#failUnlessDone(reject({ path: 'document', rule: outcome.reason }))
          else if (outcome.kind === 'conflict') this.#failUnlessDone(reject(sameRevision))
          else accept(outcome.kind)
        }
        // What is below has been read by indexers that told of it; a rebuild leaves it to them.
        const isCompared = serving !== undefined && record.offset >= assigned.start.deadLetteredBelow
        this.writer.submit({ documents, version, isCompared, place: () => placeOf(record), done })
      }
    }
  }

  /** Stops the pipeline if `handling` rejects. It retries what can fail, so any error is a bug, unless the pipeline is shutting down. */
  #failUnlessDone(handling: Promise<void>): void {
    handling.catch((error: unknown) => {
      if (!this.#writing.signal.aborted) this.#options.fail(error)
    })
  }

  /** Marks the lists of everything that was handed to the writer. It is not sent before Redis has taken the marks. */
  async #mark(): Promise<void> {
    await this.#marking.untilDone('marking lists in Redis', async () => await this.#pending?.mark())
  }

  async #refresh(): Promise<void> {
    const { elasticsearch, generation, metrics } = this.#options
    const stop = metrics.refreshSeconds.startTimer()
    const index = Object.values(generation.indices)
    const options = { requestTimeout: refreshTimeoutMs }
    await refreshEveryCopy(elasticsearch, index, options).finally(stop)
  }
}

/** Names a record whose key is known to be valid. */
const placeOf = ({ topic, partition, offset, key }: SourceRecord): string =>
  `${topic}/${partition}/${offset}, key ${key?.toString()}`
