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

/** How long (ms) a partition is paused when its next batch cannot be decoded. */
const undecodableRetryMs = 5_000
const roomPollMs = 10
/** The longest wait (ms) for room, summed over `recordsPerTurn` records. Meanwhile no partition is read; then only the topic is paused. */
const roomPatienceMs = 500
/** After so many records, heartbeats and responses get a turn. */
const recordsPerTurn = 100

export type ReadOptions = {
  readonly source: KafkaSource
  readonly groupId: string
  readonly topics: readonly string[]
  /** The least time (ms) from the append of a deletion until compaction may remove it. */
  keptMs(topic: string): number
  readonly log: Logger
}

type ConsumerOptions = ReadOptions & {
  readonly maxInFlightBytes: number
  startOffsets(partitions: readonly TopicPartition[]): Promise<ReadonlyMap<string, StartOffset>>
  /** Calls `onProcessed` once the record is processed, perhaps after the partition was reassigned. Must not throw. */
  onRecord(record: SourceRecord, assigned: AssignedPartition, onProcessed: () => void): void
  onRebalance(): void
  readonly random: () => number
}

type RoomPatience = { leftMs: number }

/** Reads the source topics as a member of a consumer group. Each assignment has its own offset trackers, so only records that it has read are committed. */
export class SourceConsumer {
  readonly #options: ConsumerOptions
  readonly #stop = new AbortController()
  /** A new map for each assignment; by `partitionName`. */
  #assigned = new Map<string, AssignedPartition>()
  #member: GroupMember | undefined
  #rejoin = new AbortController()
  #crashes = 0
  readonly #inFlight: InFlightBytes
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

  health(): CheckOutcome {
    return this.#health
  }

  /** Fails while a partition is paused because its next batch cannot be decoded. */
  decodingHealth(): CheckOutcome {
    const paused = this.assigned().filter(({ undecodable }) => undecodable !== undefined)
    const reasons = paused.map((partition) => `${partitionName(partition)}: ${partition.undecodable?.message}`)
    return reasons.length > 0 ? failed(reasons.join('; ')) : passed
  }

  /** Rejects if a rebalance has ended the assignment, with one exception (`GroupMember.commit`). */
  async commit(commits: readonly PartitionCommit[]): Promise<void> {
    await this.#member?.commit(commits)
  }

  /** Joins the group anew, to read from the committed offsets. */
  rejoin(): void {
    this.#rejoin.abort()
  }

  /** Reads until fetching is stopped; restarts a crashed member. */
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

  /** Stops fetching for good. Records in flight can still be committed. */
  stopFetching(): void {
    this.#stop.abort()
    if (this.#assigned.size > 0) this.#member?.pause(this.assigned())
  }

  /** Leaves the group: other members get the partitions at once, not after the session timeout. */
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
    // 1. Records of the former assignment do not advance commits any more.
    const emptyAssignment = this.#forgetAssignment()
    // If the group rebalances, or the consumer stops, during step 2, this call has no effect.
    const isCurrent = (): boolean => this.#assigned === emptyAssignment && !this.#stop.signal.aborted
    try {
      // 2. A committed offset may be for another generation (`startOffsets.ts`).
      const starts = await startOffsets(partitions)
      if (!isCurrent()) return
      // 3. Fetches from there.
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

  /** Resolves with false if not all records were passed: KafkaJS fetches the others again. */
  async #passBatch(batch: FetchedBatch): Promise<boolean> {
    const { records, undecodable, position, gapBelow, skippedAtMs } = batch
    const state = this.#assigned.get(partitionName(batch))
    if (state === undefined || this.#fullTopics.has(batch.topic)) return false
    expectNext(state, position)
    // Compaction has removed records. Until the present end of the log is read, the index may be in a state that the log never had.
    if (gapBelow !== undefined) state.visible.noteGap(gapBelow)
    // Control records, or records of aborted transactions, are not in `records`.
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

  /** Pauses the topic once no `patience` is left. Resolves with false if the topic was paused, or the member has stopped. */
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
      // The next owner reads this record again.
      if (!state.assignmentEnd.aborted) this.#markProcessed(trackedRecord, state)
      this.#resumeTopics()
    })
    state.nextOffset = record.offset + 1n
  }

  /** Counts the bytes of processed records that an earlier record in flight keeps in the offset tracker. */
  #markProcessed(trackedRecord: TrackedRecord, state: AssignedPartition): void {
    const passedCount = state.offsets.markProcessed(trackedRecord)
    const addedBehind = 1 - passedCount
    state.processedBehind += addedBehind
    this.#inFlight.add(state.topic, addedBehind * trackedBytes)
  }

  /** Returns the new map: while `#assigned` is this map, no partition has been assigned since. */
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

  /** The batch is fetched again later, unless compaction has removed it. */
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

  /** Up to `lastOffset`, the partition has no record left. */
  #endBatch(name: string, batchStart: bigint, lastOffset: Offset): void {
    const state = this.#assigned.get(name)
    if (state === undefined) return
    expectNext(state, batchStart)
    state.undecodable = undefined
    state.offsets.endBatch(lastOffset)
    state.nextOffset = lastOffset + 1n
  }
}
