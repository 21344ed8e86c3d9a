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
import type { TrackedRecord } from './offsetTracker.ts'
import type { StartOffset } from './startOffsets.ts'

/** How long a partition is paused before a batch that cannot be decoded is fetched again. */
const undecodableRetryMs = 5_000
/** How often it is checked whether records in flight have left room for another record (`inFlightBytes.ts`). */
const roomPollMs = 10
/**
 * The longest wait (ms) for room, summed over `recordsPerTurn` records. Meanwhile no batch of any partition is read. After this wait, the topic is paused, so
 * that the other topics continue to be read.
 */
const roomPatienceMs = 500
/** After so many records, the event loop gets a turn: later, heartbeats and responses would be delayed. */
const recordsPerTurn = 100

export type ReadOptions = {
  readonly source: KafkaSource
  readonly groupId: string
  readonly topics: readonly string[]
  /** The least time (ms) from the append of a deletion until compaction may remove it (`TopicRules`). */
  keptMs(topic: string): number
  readonly log: Logger
}

type ConsumerOptions = ReadOptions & {
  readonly maxInFlightBytes: number
  /** Finds the offset at which to begin to read each partition, by `partitionName`. */
  startOffsets(partitions: readonly TopicPartition[]): Promise<ReadonlyMap<string, StartOffset>>
  /**
   * Processes a record. Calls `onProcessed` once the record is indexed, found stale or dead-lettered (in a rebuild: rejected), perhaps after the partition was
   * reassigned. Must not throw.
   */
  onRecord(record: SourceRecord, assigned: AssignedPartition, onProcessed: () => void): void
  /** Called when a rebalance has assigned partitions to this member. */
  onRebalance(): void
  /** A number from 0 to 1, for backoffs. */
  readonly random: () => number
}

/** `leftMs`: how much longer (ms) may be waited for room. */
type RoomPatience = { leftMs: number }

/**
 * Reads the source topics as a member of a consumer group, and passes each record to `onRecord`. Each assignment has its own offset trackers. A record that was
 * read for an earlier assignment does not advance them, so only records that this assignment has read are committed.
 */
export class SourceConsumer {
  readonly #options: ConsumerOptions
  /** Aborts when fetching stops for good. */
  readonly #stop = new AbortController()
  /** By `partitionName`. Replaced by a new map whenever an assignment begins or ends. */
  #assigned = new Map<string, AssignedPartition>()
  #member: GroupMember | undefined
  /** Aborts the run of the present member, so that another one joins the group. */
  #rejoin = new AbortController()
  /** Crashes since the last assignment. */
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

  /** Fails while a partition is paused because its next batch cannot be decoded. */
  decodingHealth(): CheckOutcome {
    const paused = this.assigned().filter(({ undecodable }) => undecodable !== undefined)
    const reasons = paused.map((partition) => `${partitionName(partition)}: ${partition.undecodable?.message}`)
    return reasons.length > 0 ? failed(reasons.join('; ')) : passed
  }

  /** Rejects if a rebalance has ended the assignment; `GroupMember.commit` describes one exception. */
  async commit(commits: readonly PartitionCommit[]): Promise<void> {
    await this.#member?.commit(commits)
  }

  /** Leaves the group and joins it again, so that partitions are read from their committed offsets. */
  rejoin(): void {
    this.#rejoin.abort()
  }

  /** Reads until fetching is stopped. After a crash of the member, another one joins the group. */
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
        const waitMs = backoffMs(attempts, this.#options.random)
        await sleep(waitMs, undefined, { signal: this.#stop.signal }).catch(() => undefined)
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
      onBatchEnd: (partition, batchStart, lastOffset) =>
        this.#endBatch(partitionName(partition), batchStart, lastOffset),
    })
    return member
  }

  async #startAssignment(member: GroupMember, partitions: readonly TopicPartition[]): Promise<void> {
    const { startOffsets, keptMs, log, onRebalance } = this.#options
    onRebalance()
    // 1. Ends the former assignment: its records in flight do not advance commits any more.
    const emptyAssignment = this.#forgetAssignment()
    // If the group rebalances again during step 2, or the consumer is stopped, this call ends without effect.
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

  /** Passes the records of a batch to `onRecord`. Resolves with false if not all were passed: KafkaJS fetches the others again. */
  async #passBatch(batch: FetchedBatch): Promise<boolean> {
    const { records, undecodable, position, gapBelow, skippedAtMs } = batch
    const state = this.#assigned.get(partitionName(batch))
    if (state === undefined || this.#fullTopics.has(batch.topic)) return false
    expectNext(state, position)
    // Compaction has removed records of the batch. Until the end of the log at this time is read, the index may be in a state that the log never had.
    if (gapBelow !== undefined) state.visible.noteGap(gapBelow)
    // The batch has control records, or records of aborted transactions, which are not in `records`.
    if (skippedAtMs !== undefined) state.log.noteTime(position, skippedAtMs)
    const isAssigned = (): boolean => this.#assigned.get(partitionName(batch)) === state
    let count = 0
    let patience: RoomPatience = { leftMs: roomPatienceMs }
    for (const record of records) {
      if (++count % recordsPerTurn === 0) {
        await nextTurn()
        patience = { leftMs: roomPatienceMs }
      }
      if (!(await this.#untilRoom(batch, patience)) || !isAssigned()) return false
      this.#passRecord(copiedOut(record), state)
    }
    if (undecodable !== undefined) this.#pausePartition(undecodable, state)
    return undecodable === undefined
  }

  /**
   * Waits until there is room for a record. Subtracts the wait from `patience`; once none is left, pauses the topic. Resolves with false if the topic was
   * paused, or the member has stopped.
   */
  async #untilRoom({ topic, isReading, wait }: FetchedBatch, patience: RoomPatience): Promise<boolean> {
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

  /** Resumes each paused topic that has enough room again. */
  #resumeTopics(): void {
    for (const topic of this.#fullTopics) {
      if (!this.#inFlight.hasRoomToResume(topic) || this.#stop.signal.aborted) continue
      this.#fullTopics.delete(topic)
      this.#member?.resume(this.assigned().filter((partition) => partition.topic === topic))
    }
  }

  #passRecord(record: SourceRecord, state: AssignedPartition): void {
    const bytes = recordBytes(record)
    state.log.noteTime(record.offset, record.appendedAtMs)
    const trackedRecord = state.offsets.track(record.offset, record.appendedAtMs)
    this.#inFlight.add(record.topic, bytes)
    this.#options.onRecord(record, state, () => {
      this.#inFlight.add(record.topic, -bytes)
      // After a rebalance, the next owner reads this record again.
      if (!state.assignmentEnd.aborted) this.#markProcessed(trackedRecord, state)
      this.#resumeTopics()
    })
    state.nextOffset = record.offset + 1n
  }

  /** Marks a record as processed, and counts the bytes of the processed records that an earlier record in flight keeps in the offset tracker. */
  #markProcessed(trackedRecord: TrackedRecord, state: AssignedPartition): void {
    // So many records, from the first unprocessed one on, need not be tracked any more: none, while an earlier record is in flight.
    const passedCount = state.offsets.markProcessed(trackedRecord)
    const addedBehind = 1 - passedCount
    state.processedBehind += addedBehind
    this.#inFlight.add(state.topic, addedBehind * trackedBytes)
  }

  /** Ends the assignment. Returns the new, empty map: as long as `#assigned` is this map, no partition has been assigned since. */
  #forgetAssignment(): Map<string, AssignedPartition> {
    const partitions = this.assigned()
    this.#assigned = new Map()
    this.#fullTopics.clear()
    for (const { topic, processedBehind, endAssignment } of partitions) {
      this.#inFlight.add(topic, -processedBehind * trackedBytes)
      endAssignment()
    }
    return this.#assigned
  }

  /** Pauses a partition whose next batch cannot be decoded. After `undecodableRetryMs`, the batch is fetched again, unless compaction has removed it. */
  #pausePartition(undecodable: Undecodable, state: AssignedPartition): void {
    const member = this.#member
    const { topic, partition } = state
    const problem = 'partition is paused: a record batch cannot be decoded'
    // The same error at the next fetch is not logged again.
    if (state.undecodable?.message !== undecodable.message)
      this.#options.log.error({ err: undecodable, topic, partition }, problem)
    state.undecodable = undecodable
    member?.pause([state])
    setTimeout(() => {
      const isAssigned = this.#assigned.get(partitionName(state)) === state
      if (isAssigned && !this.#fullTopics.has(topic) && !this.#stop.signal.aborted) member?.resume([state])
    }, undecodableRetryMs).unref()
  }

  /** Called when all records of a batch were passed: up to `lastOffset`, the partition has no other record. */
  #endBatch(name: string, batchStart: bigint, lastOffset: Offset): void {
    const state = this.#assigned.get(name)
    if (state === undefined) return
    expectNext(state, batchStart)
    state.undecodable = undefined
    state.offsets.endBatch(lastOffset)
    state.nextOffset = lastOffset + 1n
  }
}
