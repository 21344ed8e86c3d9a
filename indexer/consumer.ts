import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs'
import type { Logger } from 'pino'
import { type Offset, toOffset } from '../src/domain/identifiers.ts'
import { backoffMs } from './backoff.ts'
import type { ByteBudget } from './budget.ts'
import { PartitionLedger } from './ledger.ts'
import { recordBytes, type SourceRecord, sourceRecord } from './sourceRecord.ts'

/** How long the partitions of an indexer that was killed stay without one. */
const sessionTimeoutMs = 10_000
const heartbeatIntervalMs = 1_500
const fetchWaitMs = 500
/** Records judged in one turn of the event loop, so that heartbeats and answers are not held up. */
const recordsPerTurn = 100

/** A partition this indexer owns in the current generation of its group. */
export type Assigned = { readonly topic: string; readonly partition: number; readonly ledger: PartitionLedger }

export type ConsumerOptions = {
  readonly kafka: Kafka
  readonly groupId: string
  readonly topics: readonly string[]
  readonly budget: ByteBudget
  /** Takes a record over and calls `settled` once it is acknowledged, stale or dead-lettered. Must not throw. */
  readonly onRecord: (record: SourceRecord, settled: () => void) => void
  readonly log: Logger
  readonly random: () => number
}

/**
 * Reads the source topics as a member of the indexer's group. A new generation starts with new ledgers: what an older one
 * still settles moves nothing. Whatever KafkaJS gives up on, the consumer is built anew, with backoff, until it is stopped.
 */
export class SourceConsumer {
  readonly #options: ConsumerOptions
  readonly #stop = new AbortController()
  #assigned = new Map<string, Assigned>()
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

  /** Commits positions of partitions owned now; the broker refuses them when the generation is over. */
  async commit(positions: readonly { topic: string; partition: number; position: Offset }[]): Promise<void> {
    await this.#consumer?.commitOffsets(
      positions.map(({ topic, partition, position }) => ({ topic, partition, offset: String(position) })),
    )
  }

  /** Reads until `stop`. */
  async run(): Promise<void> {
    for (let attempts = 1; !this.#stop.signal.aborted; attempts++) {
      try {
        await this.#readUntilCrash()
      } catch (error) {
        this.#trouble = (error as Error).message
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
    this.#assigned = new Map()
    await this.#consumer?.disconnect()
  }

  async #readUntilCrash(): Promise<void> {
    const { kafka, groupId, topics } = this.#options
    const consumer = kafka.consumer({
      groupId,
      sessionTimeout: sessionTimeoutMs,
      heartbeatInterval: heartbeatIntervalMs,
      maxWaitTimeInMs: fetchWaitMs,
      allowAutoTopicCreation: false,
      retry: { restartOnFailure: async () => false },
    })
    this.#consumer = consumer
    const crashed = new Promise<never>((_, reject) => {
      consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
    })
    crashed.catch(() => undefined)
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => this.#assign(payload.memberAssignment))
    consumer.on(consumer.events.START_BATCH_PROCESS, ({ payload }) => {
      // Transaction markers alone, or offsets that compaction emptied: KafkaJS moves on without calling eachBatch.
      if (payload.batchSize > 0) return
      this.#assigned.get(nameOf(payload.topic, payload.partition))?.ledger.passed(toOffset(payload.lastOffset))
    })
    try {
      await consumer.connect()
      await consumer.subscribe({ topics: [...topics], fromBeginning: true })
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        eachBatch: (payload) => this.#takeBatch(payload),
      })
      await Promise.race([crashed, aborted(this.#stop.signal)])
    } catch (error) {
      this.#assigned = new Map()
      await consumer.disconnect().catch(() => undefined)
      throw error
    }
  }

  #assign(memberAssignment: Readonly<Record<string, number[]>>): void {
    this.#assigned = new Map()
    for (const [topic, partitions] of Object.entries(memberAssignment)) {
      for (const partition of partitions)
        this.#assigned.set(nameOf(topic, partition), { topic, partition, ledger: new PartitionLedger() })
    }
    this.#trouble = undefined
    this.#options.log.info({ partitions: [...this.#assigned.keys()] }, 'joined the group')
  }

  async #takeBatch({ batch, resolveOffset, heartbeat, isRunning }: EachBatchPayload): Promise<void> {
    const assigned = this.#assigned.get(nameOf(batch.topic, batch.partition))
    if (assigned === undefined) return
    const { budget, onRecord } = this.#options
    let taken = 0
    for (const message of batch.messages) {
      while (!budget.hasRoom() && isRunning() && !this.#stop.signal.aborted) {
        await Promise.race([budget.room(), sleep(heartbeatIntervalMs, undefined, { ref: false })])
        await heartbeat()
      }
      if (!isRunning() || this.#stop.signal.aborted) return
      const record = sourceRecord(batch.topic, batch.partition, message)
      const bytes = recordBytes(record)
      const settle = assigned.ledger.add(record.offset, record.appendedAtMs)
      budget.take(bytes)
      onRecord(record, () => {
        budget.give(bytes)
        settle()
      })
      resolveOffset(message.offset)
      if (++taken % recordsPerTurn === 0) await nextTurn()
    }
    assigned.ledger.passed(toOffset(batch.lastOffset()))
    resolveOffset(batch.lastOffset())
    await heartbeat()
  }
}

export const nameOf = (topic: string, partition: number): string => `${topic}/${partition}`

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
