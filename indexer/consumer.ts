import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Batch, Consumer, EachBatchPayload, Kafka } from 'kafkajs'
import kafkajs from 'kafkajs'
import type { Logger } from 'pino'
import { type Offset, toOffset } from '../src/core/model/ids.ts'
import { summaryOf } from '../src/core/process/log.ts'
import { type Undecodable, undecodableOf } from '../src/core/stores/recordBatches.ts'
import { backoffMs } from './backoff.ts'
import type { ByteBudget } from './budget.ts'
import { nameOf, type Start, type TopicPartition } from './committedOffsets.ts'
import { OffsetTracker } from './offsetTracker.ts'
import { recordBytes, type SourceRecord, sourceRecord } from './sourceRecord.ts'

/** How long the partitions of an indexer that was killed stay without one. */
const sessionTimeoutMs = 10_000
const heartbeatIntervalMs = 1_500
/** How long the others wait for a member that does not come back when partitions are given out anew. */
const rebalanceTimeoutMs = 15_000
/** How long partitions that were added to a topic stay unread. */
const metadataMaxAgeMs = 10_000
const fetchWaitMs = 500
/** How long a partition whose next record batch cannot be decoded stays paused before that batch is fetched again. */
const undecodableRetryMs = 5_000
/** Records judged in one turn of the event loop, so that heartbeats and answers are not held up. */
const recordsPerTurn = 100

/** A partition this indexer owns in the current generation of its group. */
export type Assigned = TopicPartition & { readonly start: Start; readonly ledger: OffsetTracker }

type Reading = Assigned & {
  /** The offset that the next batch must have been asked for. */
  next: bigint
}

export type ConsumerOptions = {
  readonly kafka: Kafka
  readonly groupId: string
  readonly topics: readonly string[]
  readonly budget: ByteBudget
  /** Where reading starts, by `nameOf`, for at least the partitions given. */
  starts(partitions: readonly TopicPartition[]): Promise<ReadonlyMap<string, Start>>
  /** Takes a record over and calls `settled` once it is acknowledged, stale or dead-lettered. Must not throw. */
  readonly onRecord: (record: SourceRecord, assigned: Assigned, settled: () => void) => void
  readonly onRebalance: () => void
  readonly log: Logger
  readonly random: () => number
}

/** What a commit says of one partition. */
export type Position = TopicPartition & { readonly position: Offset; readonly metadata: string }

/**
 * Reads the source topics as a member of a group. Every assignment starts with new ledgers, at the positions that `starts`
 * says: what an older one still settles moves nothing. Whatever KafkaJS gives up on, the consumer is built anew, with backoff,
 * until it is stopped.
 */
export class SourceConsumer {
  readonly #options: ConsumerOptions
  readonly #stop = new AbortController()
  #assigned = new Map<string, Reading>()
  /** Partitions that are paused at a record batch that cannot be decoded, by name. */
  #undecodable = new Map<string, Undecodable>()
  #consumer: Consumer | undefined
  #trouble: string | undefined = 'has not joined its group yet'

  constructor(options: ConsumerOptions) {
    this.#options = options
  }

  assigned(): readonly Assigned[] {
    return [...this.#assigned.values()]
  }

  /** What keeps the consumer from reading; undefined when it reads. */
  trouble(): string | undefined {
    return this.#trouble
  }

  /** Names each partition that stands at a record batch that cannot be decoded, with the reason; the others are read. */
  undecodable(): string | undefined {
    const reasons = [...this.#undecodable].map(([name, { message }]) => `${name}: ${message}`)
    return reasons.length > 0 ? reasons.join('; ') : undefined
  }

  /** Commits positions of partitions owned now; the broker refuses them when the generation is over. */
  async commit(positions: readonly Position[]): Promise<void> {
    await this.#consumer?.commitOffsets(
      positions.map(({ topic, partition, position, metadata }) => ({
        topic,
        partition,
        offset: String(position),
        metadata,
      })),
    )
  }

  /** Reads until `stop`. */
  async run(): Promise<void> {
    for (let attempts = 1; !this.#stop.signal.aborted; attempts++) {
      try {
        await this.#readUntilCrash()
      } catch (error) {
        this.#trouble = summaryOf(error)
        this.#options.log.warn({ err: error, attempts }, 'consumer ended; starting another')
        if (!this.#stop.signal.aborted) await sleep(backoffMs(attempts, this.#options.random))
      }
    }
  }

  /** Fetches nothing more; partitions stay owned, so that what is under way can still be committed. */
  pause(): void {
    this.#stop.abort()
    if (this.#assigned.size > 0) this.#consumer?.pause(this.#options.topics.map((topic) => ({ topic })))
  }

  /** Leaves the group, so that another indexer has the partitions at once. */
  async leave(): Promise<void> {
    this.#stop.abort()
    this.#forgetAssignment()
    await this.#consumer?.disconnect()
  }

  async #readUntilCrash(): Promise<void> {
    const { kafka, groupId, topics } = this.#options
    const consumer = kafka.consumer({
      groupId,
      sessionTimeout: sessionTimeoutMs,
      heartbeatInterval: heartbeatIntervalMs,
      rebalanceTimeout: rebalanceTimeoutMs,
      metadataMaxAge: metadataMaxAgeMs,
      maxWaitTimeInMs: fetchWaitMs,
      allowAutoTopicCreation: false,
      retry: { restartOnFailure: async () => false },
    })
    this.#consumer = consumer
    const crashed = Promise.withResolvers<never>()
    crashed.promise.catch(() => undefined)
    consumer.on(consumer.events.CRASH, ({ payload }) => crashed.reject(payload.error))
    consumer.on(consumer.events.REBALANCING, () => {
      this.#forgetAssignment()
      this.#trouble = 'waits for its partitions'
    })
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      this.#begin(consumer, payload.memberAssignment).catch(crashed.reject)
    })
    consumer.on(consumer.events.START_BATCH_PROCESS, ({ payload }) => {
      // Transaction markers alone, or offsets that compaction emptied: KafkaJS moves on without calling eachBatch.
      if (payload.batchSize === 0) this.#passed(this.#assigned.get(nameOf(payload)), payload.lastOffset)
    })
    try {
      await consumer.connect()
      await consumer.subscribe({ topics: [...topics], fromBeginning: true })
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        eachBatch: (payload) => this.#takeBatch(payload),
      })
      await Promise.race([crashed.promise, aborted(this.#stop.signal)])
    } catch (error) {
      this.#forgetAssignment()
      await consumer.disconnect().catch(() => undefined)
      throw error
    }
  }

  /** Fetches nothing until it is known where each partition starts: a commit may speak of other indices. */
  async #begin(consumer: Consumer, memberAssignment: Readonly<Record<string, number[]>>): Promise<void> {
    const { starts, log, onRebalance } = this.#options
    onRebalance()
    const none = this.#forgetAssignment()
    const assignment = Object.entries(memberAssignment).map(([topic, partitions]) => ({ topic, partitions }))
    const partitions = assignment.flatMap(({ topic, partitions }) =>
      partitions.map((partition) => ({ topic, partition })),
    )
    consumer.pause(assignment)
    const known = await starts(partitions)
    // Another assignment came, or the end.
    if (this.#assigned !== none || this.#stop.signal.aborted) return
    const readings = partitions.map((each): Reading => {
      const start = known.get(nameOf(each))
      if (start === undefined) throw new Error(`it is not known where ${nameOf(each)} starts`)
      return { ...each, start, ledger: new OffsetTracker(start.position), next: start.position }
    })
    for (const { topic, partition, next } of readings) consumer.seek({ topic, partition, offset: String(next) })
    this.#assigned = new Map(readings.map((reading) => [nameOf(reading), reading]))
    consumer.resume(assignment)
    this.#trouble = undefined
    log.info({ partitions: [...this.#assigned.keys()] }, 'joined the group')
  }

  async #takeBatch({ batch, resolveOffset, heartbeat, isRunning }: EachBatchPayload): Promise<void> {
    const reading = this.#assigned.get(nameOf(batch))
    if (reading === undefined) return
    expectNext(batch, reading)
    const { budget, onRecord } = this.#options
    let taken = 0
    for (const message of batch.messages) {
      const undecodable = undecodableOf(message)
      if (undecodable !== undefined) return this.#pauseAt(undecodable, reading)
      while (!budget.hasRoom() && isRunning() && !this.#stop.signal.aborted) {
        await Promise.race([budget.room(), sleep(heartbeatIntervalMs, undefined, { ref: false })])
        await heartbeat()
      }
      if (!isRunning() || this.#stop.signal.aborted) return
      const record = sourceRecord(batch.topic, batch.partition, message)
      const bytes = recordBytes(record)
      const settle = reading.ledger.add(record.offset, record.appendedAtMs)
      budget.take(bytes)
      onRecord(record, reading, () => {
        budget.give(bytes)
        settle()
      })
      resolveOffset(message.offset)
      reading.next = record.offset + 1n
      if (++taken % recordsPerTurn === 0) await nextTurn()
    }
    this.#passed(reading, batch.lastOffset())
    resolveOffset(batch.lastOffset())
    await heartbeat()
  }

  #forgetAssignment(): Map<string, Reading> {
    this.#undecodable = new Map()
    this.#assigned = new Map()
    return this.#assigned
  }

  /** Pauses one partition, and fetches its next batch again after a while: compaction may have removed it. */
  #pauseAt(undecodable: Undecodable, reading: Reading): void {
    const [name, consumer, { topic, partition }] = [nameOf(reading), this.#consumer, reading]
    if (this.#undecodable.get(name)?.message !== undecodable.message)
      this.#options.log.error(
        { err: undecodable, topic, partition },
        'partition is paused: a record batch cannot be decoded',
      )
    this.#undecodable.set(name, undecodable)
    consumer?.pause([{ topic, partitions: [partition] }])
    const retry = setTimeout(() => {
      if (this.#assigned.get(name) === reading && !this.#stop.signal.aborted)
        consumer?.resume([{ topic, partitions: [partition] }])
    }, undecodableRetryMs)
    retry.unref()
  }

  #passed(reading: Reading | undefined, lastOffset: string): void {
    if (reading === undefined) return
    this.#undecodable.delete(nameOf(reading))
    reading.ledger.passed(toOffset(lastOffset))
    reading.next = toOffset(lastOffset) + 1n
  }
}

/** KafkaJS moves a position by itself when the log does not hold it any more; then the start has to be found anew. */
function expectNext(batch: Batch, { next }: Reading): void {
  const { fetchedOffset } = batch as Batch & { readonly fetchedOffset: string }
  if (toOffset(fetchedOffset) === next) return
  throw new kafkajs.KafkaJSNonRetriableError(`${nameOf(batch)} was read from ${fetchedOffset} instead of ${next}`)
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
