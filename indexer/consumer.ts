import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { FetchedBatch, GroupMember, PartitionCommit } from '../src/core/kafka/consumerGroup.ts'
import type { Undecodable } from '../src/core/kafka/recordBatches.ts'
import type { KafkaSource } from '../src/core/kafka/source.ts'
import { copiedOut, partitionName, type SourceRecord, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import type { Offset } from '../src/core/model/ids.ts'
import { type CheckOutcome, failed, passed } from '../src/core/monitoring/health.ts'
import { summaryOf } from '../src/core/monitoring/log.ts'
import { type AssignedPartition, assignPartition, expectNext } from './assignedPartition.ts'
import { backoffMs } from './backoff.ts'
import { InFlightBytes, recordBytes, trackedBytes } from './inFlightBytes.ts'
import type { StartOffset } from './startOffsets.ts'

const undecodableRetryMs = 5_000
const roomPollMs = 10
/**
 * The longest wait (ms) for room in `inFlightBytes.ts`, summed over `recordsPerTurn` records. Meanwhile no batch of any partition is read. After this wait, the
 * topic is paused, so that the other topics continue to be read.
 */
const roomPatienceMs = 500
/** More records in one turn of the event loop would delay heartbeats and responses. */
const recordsPerTurn = 100

export type ReadOptions = {
  readonly source: KafkaSource
  readonly groupId: string
  readonly topics: readonly string[]
  /** See `TopicRules.keptMs`. */
  keptMs(topic: string): number
  readonly log: Logger
}

type ConsumerOptions = ReadOptions & {
  readonly maxInFlightBytes: number
  /** By `partitionName`. */
  startOffsets(partitions: readonly TopicPartition[]): Promise<ReadonlyMap<string, StartOffset>>
  /**
   * Processes a record. Calls `onProcessed` once the record is indexed, found stale or dead-lettered (in a rebuild: rejected), perhaps after the partition was
   * reassigned. Must not throw.
   */
  onRecord(record: SourceRecord, assigned: AssignedPartition, onProcessed: () => void): void
  onRebalance(): void
  readonly random: () => number
}

/**
 * Reads the source topics as a member of a consumer group. Each assignment has its own offset trackers, which records of an earlier assignment do not advance:
 * no record is committed that this assignment has not read.
 */
export class SourceConsumer {
  readonly #options: ConsumerOptions
  readonly #stop = new AbortController()
  #assigned = new Map<string, AssignedPartition>()
  #member: GroupMember | undefined
  #rejoin = new AbortController()
  #crashes = 0
  readonly #inFlight: InFlightBytes
  /** The topics that are paused until there is room for their records. */
  readonly #fullTopics = new Set<string>()
  #health: CheckOutcome = failed('has not joined its group yet')

  constructor(options: ConsumerOptions) {
    this.#options = options
    this.#inFlight = new InFlightBytes(options.maxInFlightBytes, options.topics)
  }

  get inFlightBytes(): number {
    return this.#inFlight.total
  }

  assigned(): readonly AssignedPartition[] {
    return [...this.#assigned.values()]
  }

  /** Fails while the consumer has no assignment. */
  health(): CheckOutcome {
    return this.#health
  }

  decodingHealth(): CheckOutcome {
    const paused = this.assigned().filter(({ undecodable }) => undecodable !== undefined)
    const reasons = paused.map((partition) => `${partitionName(partition)}: ${partition.undecodable?.message}`)
    return reasons.length > 0 ? failed(reasons.join('; ')) : passed
  }

  /** Rejects if a rebalance has ended the assignment, except in one case (`GroupMember.commit`). */
  async commit(commits: readonly PartitionCommit[]): Promise<void> {
    await this.#member?.commit(commits)
  }

  /** Leaves the group and joins it again, so that partitions are read from their committed offsets. */
  rejoin(): void {
    this.#rejoin.abort()
  }

  async run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        this.#member = this.#createMember()
        this.#rejoin = new AbortController()
        await this.#member.run(AbortSignal.any([this.#stop.signal, this.#rejoin.signal]))
        if (this.#stop.signal.aborted) return
        this.#forgetAssignment()
        await this.#member.leave()
      } catch (error) {
        this.#forgetAssignment()
        this.#health = failed(summaryOf(error))
        const attempts = ++this.#crashes
        this.#options.log.warn({ err: error, attempts }, 'consumer crashed; starting another')
        const restMs = backoffMs(attempts, this.#options.random)
        await sleep(restMs, undefined, { signal: this.#stop.signal }).catch(() => undefined)
      }
    }
  }

  /** Stops fetching for good. The partitions stay assigned, so that the records in flight can still be committed. */
  stopFetching(): void {
    this.#stop.abort()
    if (this.#assigned.size > 0) this.#member?.pause(this.assigned())
  }

  /** Leaves the group, so that the partitions are assigned to other indexers at once, not after the session timeout. */
  async leave(): Promise<void> {
    this.#stop.abort()
    this.#forgetAssignment()
    await this.#member?.leave()
  }

  #createMember(): GroupMember {
    const { source, groupId, topics } = this.#options
    const member = source.groupMember({
      groupId,
      topics,
      onRevoked: () => {
        this.#forgetAssignment()
        this.#health = failed('waits for its partitions')
      },
      onAssigned: (partitions) => this.#startAssignment(member, partitions),
      onBatch: (batch) => this.#passBatch(batch),
      onBatchEnd: (partition, from, lastOffset) => this.#endBatch(partitionName(partition), from, lastOffset),
    })
    return member
  }

  async #startAssignment(member: GroupMember, partitions: readonly TopicPartition[]): Promise<void> {
    const { startOffsets, keptMs, log, onRebalance } = this.#options
    onRebalance()
    // 1. Ends the former assignment: its records in flight do not advance commits any more.
    const emptyAssignment = this.#forgetAssignment()
    // If the group rebalances again during step 2, or the consumer is stopped, this attempt has no effect.
    const isCurrent = (): boolean => this.#assigned === emptyAssignment && !this.#stop.signal.aborted
    try {
      // 2. Finds the start offsets. A committed offset may be for another generation of indices (`startOffsets.ts`).
      const starts = await startOffsets(partitions)
      if (!isCurrent()) return
      // 3. Fetches from the start offsets. Nothing was fetched before.
      const states = partitions.map((partition) =>
        assignPartition(partition, starts.get(partitionName(partition)), keptMs),
      )
      member.readFrom(states)
      this.#assigned = new Map(states.map((state) => [partitionName(state), state]))
    } catch (error) {
      if (!isCurrent()) return
      throw error
    }
    this.#crashes = 0
    this.#health = passed
    log.info({ partitions: [...this.#assigned.keys()] }, 'joined the group')
  }

  /** Passes the records of a batch to `onRecord`. False if not all were passed: the others are fetched again. */
  async #passBatch(batch: FetchedBatch): Promise<boolean> {
    const { records, undecodable, position, gapBelow, skippedAtMs } = batch
    const state = this.#assigned.get(partitionName(batch))
    if (state === undefined || this.#fullTopics.has(batch.topic)) return false
    expectNext(state, position)
    // Compaction has removed records of the batch.
    if (gapBelow !== undefined) state.visible.noteGap(gapBelow)
    const isAssigned = (): boolean => this.#assigned.get(partitionName(batch)) === state
    // The batch has control records, or records of aborted transactions, which are not in `records`.
    if (skippedAtMs !== undefined) state.log.noteTime(position, skippedAtMs)
    let count = 0
    let patience = { leftMs: roomPatienceMs }
    for (const record of records) {
      if (++count % recordsPerTurn === 0) {
        await nextTurn()
        patience = { leftMs: roomPatienceMs }
      }
      if (!(await this.#untilRoom(batch, patience)) || !isAssigned()) return false
      this.#pass(copiedOut(record), state)
    }
    if (undecodable !== undefined) this.#pausePartition(undecodable, state)
    return undecodable === undefined
  }

  /** Waits until there is room for a record. False if the member has stopped, or the wait was too long, and the topic is paused now. */
  async #untilRoom({ topic, isReading, wait }: FetchedBatch, patience: { leftMs: number }): Promise<boolean> {
    while (isReading() && !this.#inFlight.hasRoom(topic)) {
      if (patience.leftMs <= 0) {
        this.#fullTopics.add(topic)
        this.#member?.pause(this.assigned().filter((partition) => partition.topic === topic))
        return false
      }
      const beganAtMs = performance.now()
      await wait(roomPollMs)
      patience.leftMs -= performance.now() - beganAtMs
    }
    return isReading()
  }

  #resumeTopics(): void {
    for (const topic of this.#fullTopics) {
      if (!this.#inFlight.hasRoomToResume(topic) || this.#stop.signal.aborted) continue
      this.#fullTopics.delete(topic)
      this.#member?.resume(this.assigned().filter((partition) => partition.topic === topic))
    }
  }

  #pass(record: SourceRecord, state: AssignedPartition): void {
    const bytes = recordBytes(record)
    state.log.noteTime(record.offset, record.appendedAtMs)
    const entry = state.offsets.track(record.offset, record.appendedAtMs)
    this.#inFlight.add(record.topic, bytes)
    this.#options.onRecord(record, state, () => {
      this.#inFlight.add(record.topic, -bytes)
      // After a rebalance, the next owner reads this record again.
      if (!state.left.aborted) {
        // `markProcessed` returns how many processed records the position passes.
        const behind = state.processedBehind + 1 - state.offsets.markProcessed(entry)
        this.#inFlight.add(record.topic, (behind - state.processedBehind) * trackedBytes)
        state.processedBehind = behind
      }
      this.#resumeTopics()
    })
    state.nextOffset = record.offset + 1n
  }

  /** Ends the assignment. Returns the new, empty map: while `#assigned` is this map, nothing was assigned since. */
  #forgetAssignment(): Map<string, AssignedPartition> {
    const partitions = this.assigned()
    this.#assigned = new Map()
    this.#fullTopics.clear()
    for (const { topic, processedBehind, leave } of partitions) {
      this.#inFlight.add(topic, -processedBehind * trackedBytes)
      leave()
    }
    return this.#assigned
  }

  /** Pauses, for `undecodableRetryMs`, a partition whose next batch cannot be decoded. Meanwhile compaction may remove the batch. */
  #pausePartition(undecodable: Undecodable, state: AssignedPartition): void {
    const member = this.#member
    const { topic, partition } = state
    const problem = 'partition is paused: a record batch cannot be decoded'
    if (state.undecodable?.message !== undecodable.message)
      this.#options.log.error({ err: undecodable, topic, partition }, problem)
    state.undecodable = undecodable
    member?.pause([state])
    setTimeout(() => {
      const isAssigned = this.#assigned.get(partitionName(state)) === state
      if (isAssigned && !this.#fullTopics.has(topic) && !this.#stop.signal.aborted) member?.resume([state])
    }, undecodableRetryMs).unref()
  }

  #endBatch(name: string, from: bigint, lastOffset: Offset): void {
    const state = this.#assigned.get(name)
    if (state === undefined) return
    expectNext(state, from)
    state.undecodable = undefined
    state.offsets.endBatch(lastOffset)
    state.nextOffset = lastOffset + 1n
  }
}
