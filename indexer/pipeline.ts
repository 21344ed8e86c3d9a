import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '@elastic/elasticsearch'
import { partitionName, type SourceRecord } from '../src/core/kafka/sourceRecord.ts'
import type { Offset } from '../src/core/model/ids.ts'
import type { Config } from '../src/core/process/config.ts'
import type { RoundPublished } from '../src/core/stores/visiblePositions.ts'
import type { AccountKeys, RecordResult } from './accountKeys.ts'
import type { AssignedPartition } from './assignedPartition.ts'
import { bulkBounds, bulkSender } from './bulk/bulkApi.ts'
import { expectOwnIndices } from './bulk/bulkFailure.ts'
import { BulkWriter } from './bulk/bulkWriter.ts'
import type { Outcome } from './bulk/job.ts'
import { type Reading, SourceConsumer } from './consumer.ts'
import { convertRecord } from './convertRecord.ts'
import { type DeadLetterWriter, sameRevision } from './deadLetters/deadLetters.ts'
import type { Generation } from './generations/generation.ts'
import { readIndexedLogs } from './indexedLogs.ts'
import { checkLogs } from './logCheck.ts'
import type { PipelineMetrics, RecordOutcome } from './metrics.ts'
import { logStateText } from './readLog.ts'
import { refreshEveryCopy } from './refreshEveryCopy.ts'
import { fetchStartOffsets, formerLeaderMs, rebuildGroup } from './startOffsets.ts'
import { documentPartitionsIn, documentTopics } from './topics.ts'
import { traceRecord } from './tracing.ts'
import { type RoundResult, VisibilityPublisher, type VisibleRound } from './visibilityPublisher.ts'

const refreshTimeoutMs = 30_000
const drainDeadlineMs = 4_000
/** After this time the group is left without a last commit: the next owner of the partitions reads again what was not committed. */
const lastPublishDeadlineMs = 3_000
const drainPollMs = 20

/** What a pipeline needs besides, when readers see its generation. */
type Serving = {
  readonly deadLetters: DeadLetterWriter
  readonly accountKeys: AccountKeys
  /** Acts on what came of a round: makes the generation serve, or says that it is retired. */
  afterRound(published: RoundPublished): Promise<RoundResult>
}

/** What Redis keeps of the logs of a generation, by `partitionName` (`readLogs.ts`). */
type KeptLogs = {
  keep(logs: ReadonlyMap<string, string>): Promise<void>
  kept(): Promise<ReadonlyMap<string, string>>
}

type PipelineOptions = Reading & {
  readonly config: Config
  readonly elasticsearch: Client
  readonly generation: Generation
  /** Undefined for a rebuild: nobody reads its generation, and the live indexer handles rejected records and account keys. */
  readonly serving: Serving | undefined
  readonly metrics: PipelineMetrics
  readonly readLogs: KeptLogs
  /** Publishes in Redis what each round has made visible. */
  publishVisible(round: VisibleRound): Promise<RoundPublished>
  /** The clock of Redis (epoch ms). */
  redisTimeMs(): Promise<number>
  /** Called with the error when the pipeline stops because of a bug. */
  fail(error: unknown): void
}

/**
 * Moves records from the topics into one generation of indices: fetch, validate, write, refresh, commit. The bytes in flight are
 * bounded by `MAX_IN_FLIGHT_BYTES`.
 */
export class Pipeline {
  readonly #options: PipelineOptions
  readonly #writing = new AbortController()
  /** `partitionName` → the offset below which every record lies that a rebuild could not use. */
  readonly rejectedBelow = new Map<string, bigint>()
  readonly writer: BulkWriter
  readonly consumer: SourceConsumer
  readonly publisher: VisibilityPublisher

  constructor(options: PipelineOptions) {
    this.#options = options
    const { config, source, elasticsearch, topics, groupId, generation, serving, metrics, log } = options
    const calls = bulkSender(elasticsearch, generation, metrics, this.#writing.signal)
    this.writer = new BulkWriter({
      ...calls,
      send: async (documents) =>
        serving ? await calls.send(documents) : expectOwnIndices(await calls.send(documents)),
      ...bulkBounds,
      maxRecordsPerSecond: config.MAX_RECORDS_PER_SECOND,
      elapsedMs: () => performance.now(),
      random: Math.random,
      signal: this.#writing.signal,
      onBlocked: (failure) => {
        if (failure === undefined) log.info('documents are written again')
        else log.warn({ ...failure, reason: this.writer.blockedReason() }, 'documents cannot be written; trying again')
      },
      onFatal: options.fail,
    })
    this.consumer = new SourceConsumer({
      ...options,
      maxInFlightBytes: config.MAX_IN_FLIGHT_BYTES,
      startOffsets: async (partitions) =>
        await fetchStartOffsets(source, partitions, {
          ...{ topics, groupId, rebuildGroupId: serving && rebuildGroup(groupId), clock: Date.now },
          keptLogs: await options.readLogs.kept(),
          indexedLogs: (unknown) =>
            readIndexedLogs(elasticsearch, generation, documentPartitionsIn(unknown, config), {
              signal: this.#writing.signal,
            }),
          generationOf: (topic) => (documentTopics(config).includes(topic) ? generation : undefined),
          patience: { ms: formerLeaderMs, signal: this.#writing.signal },
        }),
      onRecord: (...record) => this.#process(...record),
      onRebalance: () => metrics.rebalances.inc(),
      random: Math.random,
    })
    this.publisher = new VisibilityPublisher({
      consumer: this.consumer,
      offsetRanges: () => source.offsetRanges(topics),
      refresh: async () => {
        const stop = metrics.refreshSeconds.startTimer()
        const bounded = { requestTimeout: refreshTimeoutMs }
        await refreshEveryCopy(elasticsearch, Object.values(generation.indices), bounded).finally(stop)
      },
      publishVisible: options.publishVisible,
      tag: generation.tag,
      redisTimeMs: options.redisTimeMs,
      afterRound: serving?.afterRound ?? (async () => 'continue'),
      isBehind: () => this.consumer.inFlightBytes > config.MAX_IN_FLIGHT_BYTES / 2,
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
    while (this.consumer.inFlightBytes > 0 && this.blockedReasons().writer === undefined && !deadline.aborted)
      await sleep(drainPollMs)
    try {
      if (this.consumer.assigned().length > 0)
        await Promise.race([this.publisher.publish(), sleep(lastPublishDeadlineMs, undefined, { ref: false })])
    } finally {
      this.#writing.abort()
      await this.consumer.leave()
    }
  }

  /**
   * Asks Kafka whether the partitions that it reads are still the logs that its generation was read from. One that is another log is read from its
   * beginning. Rejects when Kafka does not answer.
   */
  async checkLogs(): Promise<void> {
    const { source, generation, readLogs, log } = this.#options
    const checked = this.documentPartitions()
    const replaced = await checkLogs(source, checked, () => performance.now())
    if (replaced.length > 0) {
      const partitions = replaced.map(partitionName)
      const problem = 'partitions are other logs than those that the generation was read from: a rebuild is needed'
      log.error({ partitions, generation: generation.number }, problem)
      await this.#readAgain(replaced)
    }
    const found = checked.flatMap((each) => {
      const state = each.log.found()
      return state === undefined ? [] : [[partitionName(each), logStateText(state)] as const]
    })
    await readLogs.keep(new Map(found))
  }

  /** Has partitions whose logs were replaced be read from their beginnings. */
  async #readAgain(replaced: readonly AssignedPartition[]): Promise<void> {
    const ranges = await this.#options.source.offsetRanges([...new Set(replaced.map(({ topic }) => topic))])
    const unread = replaced.flatMap((of) => {
      const low = ranges.get(partitionName(of))?.low ?? 0n
      const { position, log: read } = of.start
      // It began anew where commits, or Redis, knew that more had been read.
      const hasBegunAnew = position <= low && read.prefixes.some(({ below }) => below > position)
      return hasBegunAnew ? [] : [{ of, low: low as Offset }]
    })
    await this.publisher.readAgain(unread)
  }

  /** Its partitions of document topics. */
  documentPartitions(): readonly AssignedPartition[] {
    const documents = documentTopics(this.#options.config)
    return this.consumer.assigned().filter(({ topic }) => documents.includes(topic))
  }

  /** Why each part makes no progress; undefined while it does. */
  blockedReasons() {
    return {
      writer: this.writer.blockedReason(),
      publisher: this.publisher.blockedReason,
      consumer: this.consumer.blockedReason(),
      decoding: this.consumer.undecodableReason(),
    }
  }

  /** Calls `onProcessed` instead of returning a promise, because thousands of records are in flight. */
  #process(record: SourceRecord, assigned: AssignedPartition, onProcessed: () => void): void {
    const { config, serving } = this.#options
    const { signal } = this.#writing
    const finish = (result: RecordResult): void => this.#countOrReject(record, assigned, result, onProcessed)
    const projection = convertRecord(record, config)
    if (projection.kind === 'rejected') finish(projection.problem)
    else if (projection.kind === 'account-key') {
      if (serving === undefined) finish('stale')
      else this.#failUnlessDone(serving.accountKeys.apply(projection.change, record, signal).then(finish))
    } else {
      const { documents, list } = projection
      const traceOutcome = traceRecord(record, documents)
      const done = (outcome: Outcome): void => {
        traceOutcome?.(outcome.kind)
        assigned.visible.noteWrite(list, record.offset)
        this.publisher.noteWrite(list)
        if (outcome.kind === 'rejected') finish({ path: 'document', rule: outcome.reason })
        else finish(outcome.kind === 'conflict' ? sameRevision : outcome.kind)
      }
      // What is below has been read by indexers that told of it; a rebuild leaves it to them.
      const isCompared = serving !== undefined && record.offset >= assigned.start.deadLetteredBelow
      this.writer.submit({ documents, isCompared, name: () => nameOf(record), done })
    }
  }

  /** Counts a record; one with a problem becomes a dead letter first. */
  #countOrReject(record: SourceRecord, assigned: AssignedPartition, result: RecordResult, onProcessed: () => void) {
    const { serving, metrics } = this.#options
    const { topic } = record
    const count = (counted: RecordOutcome): void => {
      metrics.records.inc({ topic, outcome: counted })
      onProcessed()
    }
    if (typeof result === 'string') {
      serving?.deadLetters.recordAccepted(record)
      count(result)
    } else if (serving === undefined) {
      // The indexers of the generation that serves write its dead letter.
      const below = this.rejectedBelow.get(partitionName(record)) ?? 0n
      if (record.offset >= below) this.rejectedBelow.set(partitionName(record), record.offset + 1n)
      count('stale')
    } else if (assigned.left.aborted) {
      // Nothing from the record on is committed: whoever has the partition now reads it again, and writes its dead letter.
      count('stale')
    } else {
      if (result === sameRevision) metrics.revisionConflicts.inc({ topic })
      const letter = serving.deadLetters.reject(record, result, assigned)
      this.#failUnlessDone(letter.then(count))
    }
  }

  /** Stops the pipeline if `handling` rejects. It retries what can fail, so any error is a bug, unless the pipeline is shutting down. */
  #failUnlessDone(handling: Promise<void>): void {
    handling.catch((error: unknown) => {
      if (!this.#writing.signal.aborted) this.#options.fail(error)
    })
  }
}

/** Names a record whose key is known to be valid. */
const nameOf = ({ topic, partition, offset, key }: SourceRecord): string =>
  `${topic}/${partition}/${offset}, key ${key?.toString()}`
