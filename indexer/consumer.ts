import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Batch, Consumer, EachBatchPayload, Kafka } from 'kafkajs'
import kafkajs from 'kafkajs'
import type { Logger } from 'pino'
import { type Offset, toOffset } from '../src/core/model/ids.ts'
import { summaryOf } from '../src/core/process/log.ts'
import { type Undecodable, undecodableOf } from '../src/core/stores/recordBatches.ts'
import { backoffMs } from './backoff.ts'
import type { ByteBudget } from './budget.ts'
import { ChangeTimes, type PartitionClaim } from './changeTimes.ts'
import { partitionName, type StartOffset, type TopicPartition } from './committedOffsets.ts'
import { OffsetTracker } from './offsetTracker.ts'
import { recordBytes, type SourceRecord, sourceRecord } from './sourceRecord.ts'

/** How long the partitions of an indexer that was killed stay without one. */
const sessionTimeoutMs = 10_000
const heartbeatIntervalMs = 1_500
/** How long a rebalance waits for a member that does not rejoin. */
const rebalanceTimeoutMs = 15_000
/** The longest time until partitions that were added to a topic are noticed. */
const metadataMaxAgeMs = 10_000
const fetchWaitMs = 500
/** How long a partition whose next record batch cannot be decoded stays paused before that batch is fetched again. */
const undecodableRetryMs = 5_000
/** Records handled in one turn of the event loop, so that heartbeats and responses are not delayed. */
const recordsPerTurn = 100

/** A partition that the group coordinator has assigned to this indexer, since the last rebalance. */
export type AssignedPartition = TopicPartition & {
  readonly start: StartOffset
  readonly offsets: OffsetTracker
  readonly changeTimes: ChangeTimes
  /** The claim under which watermarks of the partition are published; undefined for a rebuild, which publishes none. */
  readonly owner: string | undefined
}

type FetchState = AssignedPartition & {
  /** The offset from which the next batch must have been fetched. */
  nextOffset: bigint
}

export type ConsumerOptions = {
  readonly kafka: Kafka
  readonly groupId: string
  readonly topics: readonly string[]
  readonly budget: ByteBudget
  /** The start offset of each partition, by `partitionName`. */
  startOffsets(partitions: readonly TopicPartition[]): Promise<ReadonlyMap<string, StartOffset>>
  /** Claims the partitions before the first of their records is read; undefined for a rebuild. */
  readonly claim: ((partitions: readonly TopicPartition[]) => Promise<PartitionClaim>) | undefined
  /** The metadata of a partition's commit. */
  commitMetadata(start: StartOffset): string
  /** Processes a record and calls `onProcessed` once it is indexed, stale or dead-lettered. Must not throw. */
  readonly onRecord: (record: SourceRecord, changedAtMs: number, start: StartOffset, onProcessed: () => void) => void
  readonly onRebalance: () => void
  readonly log: Logger
  readonly random: () => number
}

/** The offset to commit for one partition. */
export type PartitionCommit = TopicPartition & { readonly position: Offset; readonly metadata: string }

/**
 * Reads the source topics as a member of a consumer group. Every assignment begins with new offset trackers, at the offsets that
 * `startOffsets` returns: records of an earlier assignment that are processed later change nothing. When the KafkaJS consumer
 * crashes, another one is created, with backoff, until `pause` or `leave`.
 */
export class SourceConsumer {
  readonly #options: ConsumerOptions
  readonly #stop = new AbortController()
  #assigned = new Map<string, FetchState>()
  /** Paused partitions: the next record batch cannot be decoded. By `partitionName`. */
  #undecodable = new Map<string, Undecodable>()
  #consumer: Consumer | undefined
  #crash: ((error: unknown) => void) | undefined
  #blockedReason: string | undefined = 'has not joined its group yet'

  constructor(options: ConsumerOptions) {
    this.#options = options
  }

  assigned(): readonly AssignedPartition[] {
    return [...this.#assigned.values()]
  }

  /** Why the consumer reads nothing; undefined while it reads. */
  blockedReason(): string | undefined {
    return this.#blockedReason
  }

  /** Names each partition that is paused at an undecodable record batch, with the reason; the other partitions are read. */
  undecodableReason(): string | undefined {
    const reasons = [...this.#undecodable].map(([name, { message }]) => `${name}: ${message}`)
    return reasons.length > 0 ? reasons.join('; ') : undefined
  }

  /** Commits offsets of partitions that are assigned now; after a rebalance the broker rejects them. */
  async commit(commits: readonly PartitionCommit[]): Promise<void> {
    await this.#consumer?.commitOffsets(
      commits.map(({ topic, partition, position, metadata }) => ({
        topic,
        partition,
        offset: String(position),
        metadata,
      })),
    )
  }

  /** Joins the group again: another indexer has claimed partitions of this one. */
  rejoin(): void {
    this.#crash?.(new Error('another indexer has claimed partitions of this one'))
  }

  /** Reads until `pause` or `leave`. */
  async run(): Promise<void> {
    for (let attempts = 1; !this.#stop.signal.aborted; attempts++) {
      try {
        await this.#readUntilCrash()
      } catch (error) {
        this.#blockedReason = summaryOf(error)
        this.#options.log.warn({ err: error, attempts }, 'consumer crashed; starting another')
        if (!this.#stop.signal.aborted) await sleep(backoffMs(attempts, this.#options.random))
      }
    }
  }

  /** Stops fetching. The partitions stay assigned, so that records in flight can still be committed. */
  pause(): void {
    this.#stop.abort()
    if (this.#assigned.size > 0) this.#consumer?.pause(this.#options.topics.map((topic) => ({ topic })))
  }

  /** Leaves the group, so that its partitions are assigned to other indexers at once. */
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
    this.#crash = crashed.reject
    consumer.on(consumer.events.CRASH, ({ payload }) => crashed.reject(payload.error))
    consumer.on(consumer.events.REBALANCING, () => {
      this.#forgetAssignment()
      this.#blockedReason = 'waits for its partitions'
    })
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      this.#startAssignment(consumer, payload.memberAssignment).catch(crashed.reject)
    })
    consumer.on(consumer.events.START_BATCH_PROCESS, ({ payload }) => {
      // KafkaJS does not call eachBatch for batches that hold only transaction markers or were emptied by compaction.
      if (payload.batchSize === 0) this.#endBatch(this.#assigned.get(partitionName(payload)), payload.lastOffset)
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

  /** Fetches nothing until the start offsets are known: the committed offset may belong to another generation of indices. */
  async #startAssignment(consumer: Consumer, memberAssignment: Readonly<Record<string, number[]>>): Promise<void> {
    const { startOffsets, log, onRebalance } = this.#options
    onRebalance()
    const none = this.#forgetAssignment()
    const assignment = Object.entries(memberAssignment).map(([topic, partitions]) => ({ topic, partitions }))
    const partitions = assignment.flatMap(({ topic, partitions }) =>
      partitions.map((partition) => ({ topic, partition })),
    )
    consumer.pause(assignment)
    const claimed = await this.#claim(partitions, () => this.#assigned === none)
    const starts = await startOffsets(partitions)
    // Meanwhile there was another rebalance, or the consumer was stopped.
    if (
      (this.#options.claim !== undefined && claimed === undefined) ||
      this.#assigned !== none ||
      this.#stop.signal.aborted
    )
      return
    const states = partitions.map((each): FetchState => {
      const start = starts.get(partitionName(each))
      if (start === undefined) throw new Error(`the start offset of ${partitionName(each)} is not known`)
      return {
        ...each,
        start,
        offsets: new OffsetTracker(start.position),
        changeTimes: new ChangeTimes(start.deadLetteredBelow, claimed),
        owner: claimed?.owner,
        nextOffset: start.position,
      }
    })
    // The broker rejects the commit of a member that lost its partitions while it made the claim: then it counts for nothing.
    if (claimed !== undefined) await this.commit(states.map((each) => this.#startCommit(each)))
    if (this.#assigned !== none || this.#stop.signal.aborted) return
    for (const { topic, partition, nextOffset } of states)
      consumer.seek({ topic, partition, offset: String(nextOffset) })
    this.#assigned = new Map(states.map((state) => [partitionName(state), state]))
    consumer.resume(assignment)
    this.#blockedReason = undefined
    log.info({ partitions: [...this.#assigned.keys()] }, 'joined the group')
  }

  /** Claims the partitions; tries again while Redis is unreachable and the assignment `isCurrent`. */
  async #claim(partitions: readonly TopicPartition[], isCurrent: () => boolean): Promise<PartitionClaim | undefined> {
    const { claim, random, log } = this.#options
    for (let attempts = 1; claim !== undefined && isCurrent() && !this.#stop.signal.aborted; attempts++) {
      try {
        return await claim(partitions)
      } catch (error) {
        this.#blockedReason = `cannot claim its partitions: ${summaryOf(error)}`
        log.warn({ err: error, attempts }, 'partitions could not be claimed; trying again')
        await sleep(backoffMs(attempts, random))
      }
    }
    return undefined
  }

  #startCommit({ topic, partition, start }: FetchState): PartitionCommit {
    return { topic, partition, position: start.position, metadata: this.#options.commitMetadata(start) }
  }

  async #takeBatch({ batch, resolveOffset, heartbeat, isRunning }: EachBatchPayload): Promise<void> {
    const state = this.#assigned.get(partitionName(batch))
    if (state === undefined) return
    expectNextOffset(batch, state)
    const { budget, onRecord } = this.#options
    let taken = 0
    for (const message of batch.messages) {
      const undecodable = undecodableOf(message)
      if (undecodable !== undefined) return this.#pausePartition(undecodable, state)
      while (!budget.hasRoom() && isRunning() && !this.#stop.signal.aborted) {
        await Promise.race([budget.room(), sleep(heartbeatIntervalMs, undefined, { ref: false })])
        await heartbeat()
      }
      if (!isRunning() || this.#stop.signal.aborted) return
      const record = sourceRecord(batch.topic, batch.partition, message)
      const bytes = recordBytes(record)
      const changedAtMs = state.changeTimes.next(record.offset, record.appendedAtMs)
      const markProcessed = state.offsets.track(record.offset, changedAtMs)
      budget.take(bytes)
      onRecord(record, changedAtMs, state.start, () => {
        budget.release(bytes)
        markProcessed()
      })
      resolveOffset(message.offset)
      state.nextOffset = record.offset + 1n
      if (++taken % recordsPerTurn === 0) await nextTurn()
    }
    this.#endBatch(state, batch.lastOffset())
    resolveOffset(batch.lastOffset())
    await heartbeat()
  }

  #forgetAssignment(): Map<string, FetchState> {
    this.#undecodable = new Map()
    this.#assigned = new Map()
    return this.#assigned
  }

  /** Pauses one partition and fetches its next batch again later: compaction may have removed the undecodable one. */
  #pausePartition(undecodable: Undecodable, state: FetchState): void {
    const [name, consumer, { topic, partition }] = [partitionName(state), this.#consumer, state]
    if (this.#undecodable.get(name)?.message !== undecodable.message)
      this.#options.log.error(
        { err: undecodable, topic, partition },
        'partition is paused: a record batch cannot be decoded',
      )
    this.#undecodable.set(name, undecodable)
    consumer?.pause([{ topic, partitions: [partition] }])
    const retry = setTimeout(() => {
      if (this.#assigned.get(name) === state && !this.#stop.signal.aborted)
        consumer?.resume([{ topic, partitions: [partition] }])
    }, undecodableRetryMs)
    retry.unref()
  }

  #endBatch(state: FetchState | undefined, lastOffset: string): void {
    if (state === undefined) return
    this.#undecodable.delete(partitionName(state))
    state.offsets.endBatch(toOffset(lastOffset))
    state.nextOffset = toOffset(lastOffset) + 1n
  }
}

/** KafkaJS resets an offset that is out of range by itself; then the start offset has to be determined again. */
function expectNextOffset(batch: Batch, { nextOffset }: FetchState): void {
  const { fetchedOffset } = batch as Batch & { readonly fetchedOffset: string }
  if (toOffset(fetchedOffset) === nextOffset) return
  throw new kafkajs.KafkaJSNonRetriableError(
    `${partitionName(batch)} was read from ${fetchedOffset} instead of ${nextOffset}`,
  )
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
