import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '@elastic/elasticsearch'
import type { Kafka } from 'kafkajs'
import type { Logger } from 'pino'
import type { AccountKey } from '../src/core/model/accountKey.ts'
import type { Change } from '../src/core/model/change.ts'
import type { Problem } from '../src/core/model/result.ts'
import type { Config } from '../src/core/process/config.ts'
import { ByteBudget } from './budget.ts'
import { bulkBounds, encodeBulk, sendBulk } from './bulk/bulkRequest.ts'
import { BulkWriter, type Outcome } from './bulk/bulkWriter.ts'
import { commitMetadata, type Ends, type Start, type TopicPartition } from './committedOffsets.ts'
import { type Assigned, SourceConsumer } from './consumer.ts'
import type { Generation } from './generations/generations.ts'
import type { PipelineMetrics, RecordOutcome } from './metrics.ts'
import { project } from './project/project.ts'
import { Publisher, type PublisherOptions } from './publisher.ts'
import type { SourceRecord } from './sourceRecord.ts'

const maxFlights = 2
const bulkTimeoutMs = 60_000
const refreshTimeoutMs = 60_000
const drainDeadlineMs = 4_000
/** Then the partitions are given back all the same: whoever has them next reads again what was not committed. */
const lastRoundDeadlineMs = 3_000
const drainPollMs = 20

export type PipelineOptions = {
  readonly config: Config
  readonly kafka: Kafka
  readonly elasticsearch: Client
  /** The indices that are written. */
  readonly generation: Generation
  readonly groupId: string
  readonly topics: readonly string[]
  starts(partitions: readonly TopicPartition[]): Promise<ReadonlyMap<string, Start>>
  ends(): Promise<ReadonlyMap<string, Ends>>
  /** Takes a record that cannot be stored; the record is settled once it resolves. */
  refuse(
    record: SourceRecord,
    problem: Problem,
    assigned: Assigned,
    signal: AbortSignal,
  ): Promise<'dead-letter' | 'stale'>
  applyKey(
    change: Change<AccountKey>,
    record: SourceRecord,
    signal: AbortSignal,
  ): Promise<'indexed' | 'stale' | Problem>
  /** Hears of every record that was not refused. */
  onAccepted(record: SourceRecord): void
  readonly replaceChangeTokens: PublisherOptions['replaceChangeTokens']
  readonly publish: PublisherOptions['publish']
  readonly onLag: PublisherOptions['onLag']
  readonly metrics: PipelineMetrics
  readonly log: Logger
  readonly clock: () => number
  readonly random: () => number
  /** Hears of a bug. */
  fail(error: unknown): void
}

/**
 * Everything between the topics and one generation of indices: fetch, judge, store, settle, make visible. What is under way
 * is bounded by `MAX_IN_FLIGHT_BYTES`.
 */
export class Pipeline {
  readonly #options: PipelineOptions
  readonly #writing = new AbortController()
  readonly #publishing = new AbortController()
  readonly #budget: ByteBudget
  readonly #writer: BulkWriter
  readonly #consumer: SourceConsumer
  readonly #publisher: Publisher
  #writerTrouble: string | undefined

  constructor(options: PipelineOptions) {
    this.#options = options
    const { config, kafka, groupId, topics, starts, ends, generation, metrics, log, clock, random } = options
    this.#budget = new ByteBudget(config.MAX_IN_FLIGHT_BYTES)
    this.#writer = new BulkWriter({
      send: (documents) => this.#send(documents),
      ...bulkBounds,
      maxFlights,
      random,
      signal: this.#writing.signal,
      onTrouble: (trouble) => {
        if (trouble !== null && this.#writerTrouble === undefined)
          log.warn({ kind: trouble.kind }, 'documents cannot be stored; trying on')
        if (trouble === null && this.#writerTrouble !== undefined) log.info('documents are stored again')
        this.#writerTrouble = trouble?.reason
      },
      onFatal: options.fail,
    })
    this.#consumer = new SourceConsumer({
      kafka,
      groupId,
      topics,
      budget: this.#budget,
      starts,
      onRecord: (record, assigned, settled) => this.#take(record, assigned, settled),
      onRebalance: () => metrics.rebalances.inc(),
      log,
      random,
    })
    this.#publisher = new Publisher({
      assigned: () => this.#consumer.assigned(),
      ends,
      refresh: () => this.#refresh(),
      replaceChangeTokens: options.replaceChangeTokens,
      commit: (positions) => this.#consumer.commit(positions),
      commitMetadata: ({ start }) => commitMetadata(generation.tag, start.deadLetteredBelow),
      publish: options.publish,
      onLag: options.onLag,
      isBehind: () => this.#budget.takenBytes > this.#budget.maxBytes / 2,
      clock,
      log,
    })
  }

  /** Runs until `signal` aborts or `publish` says that it is over; then stops fetching, and keeps the partitions. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = (): void => this.#publishing.abort()
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    const reading = this.#consumer.run()
    await this.#publisher.run(this.#publishing.signal)
    signal.removeEventListener('abort', stop)
    this.#consumer.pause()
    await reading
  }

  /** Finishes what is under way, as far as that takes no more than 4 s, makes it visible within 3 s, and gives the partitions back. */
  async leave(): Promise<void> {
    this.#consumer.pause()
    const deadline = AbortSignal.timeout(drainDeadlineMs)
    while (this.#budget.takenBytes > 0 && this.#writerTrouble === undefined && !deadline.aborted)
      await sleep(drainPollMs)
    try {
      if (this.#consumer.assigned().length > 0)
        await Promise.race([this.#publisher.publish(), sleep(lastRoundDeadlineMs, undefined, { ref: false })])
    } finally {
      this.#writing.abort()
      await this.#consumer.leave()
    }
  }

  /** Makes visible what is settled now. */
  async publish(): Promise<void> {
    await this.#publisher.publish()
  }

  inFlightBytes(): number {
    return this.#budget.takenBytes
  }

  /** What keeps each part from its work; undefined when nothing does. */
  troubles(): {
    readonly writer?: string
    readonly publisher?: string
    readonly consumer?: string
    readonly decoding?: string
  } {
    const [writer, publisher, consumer] = [this.#writerTrouble, this.#publisher.trouble(), this.#consumer.trouble()]
    const decoding = this.#consumer.undecodable()
    return {
      ...(writer !== undefined && { writer }),
      ...(publisher !== undefined && { publisher }),
      ...(consumer !== undefined && { consumer }),
      ...(decoding !== undefined && { decoding }),
    }
  }

  /** Most records are settled without a promise of their own: there are thousands under way. */
  #take(record: SourceRecord, assigned: Assigned, settled: () => void): void {
    const { config, applyKey, onAccepted, metrics, fail } = this.#options
    const count = (outcome: RecordOutcome): void => {
      metrics.records.inc({ topic: record.topic, outcome })
      settled()
    }
    const accept = (outcome: 'indexed' | 'stale'): void => {
      onAccepted(record)
      count(outcome)
    }
    const finish = (outcome: Promise<void>): void => {
      outcome.catch((error: unknown) => {
        if (!this.#writing.signal.aborted) fail(error)
      })
    }
    const refuse = async (problem: Problem): Promise<void> =>
      count(await this.#options.refuse(record, problem, assigned, this.#writing.signal))
    const projection = project(record, config)
    switch (projection.kind) {
      case 'refused':
        finish(refuse(projection.problem))
        break
      case 'account-key': {
        const applied = applyKey(projection.change, record, this.#writing.signal)
        finish(applied.then((found) => (typeof found === 'string' ? accept(found) : refuse(found))))
        break
      }
      case 'documents': {
        const { documents, version, list } = projection
        const done = (outcome: Outcome): void => {
          this.#publisher.noteWrite(list)
          if (outcome.kind === 'rejected') finish(refuse({ path: 'document', rule: outcome.reason }))
          else accept(outcome.kind)
        }
        this.#writer.submit({ documents, version, done })
      }
    }
  }

  async #send(documents: Parameters<typeof sendBulk>[2]): ReturnType<typeof sendBulk> {
    const { elasticsearch, generation, metrics } = this.#options
    const body = encodeBulk(generation.indices, documents)
    metrics.bulkBytes.observe(body.length)
    const stop = metrics.bulkSeconds.startTimer()
    const options = { timeoutMs: bulkTimeoutMs, signal: this.#writing.signal }
    const outcomes = await sendBulk(elasticsearch, body, documents, options).finally(stop)
    metrics.countItems(outcomes)
    return outcomes
  }

  async #refresh(): Promise<void> {
    const { elasticsearch, generation, metrics } = this.#options
    const stop = metrics.refreshSeconds.startTimer()
    const index = Object.values(generation.indices)
    const options = { requestTimeout: refreshTimeoutMs }
    const { _shards: shards } = await elasticsearch.indices.refresh({ index }, options).finally(stop)
    if (shards === undefined || shards.failed > 0)
      throw new Error(`refresh failed on ${shards?.failed ?? 'all'} shards`)
    if (shards.successful < index.length) throw new Error(`refresh reached ${shards.successful} shards only`)
    if (shards.successful === shards.total) return
    // A copy that is not assigned is neither: without a replica all is well, without a primary nothing is.
    const { status } = await elasticsearch.cluster.health({ index, timeout: '1s' }, options)
    if (status === 'red') throw new Error('refresh did not reach every shard')
  }
}
