import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { FetchedBatch, GroupMember, PartitionCommit } from '../src/core/kafka/consumerGroup.ts'
import type { Undecodable } from '../src/core/kafka/recordBatches.ts'
import type { KafkaSource } from '../src/core/kafka/source.ts'
import { copiedOut, partitionName, type SourceRecord, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import type { Offset } from '../src/core/model/ids.ts'
import { summaryOf } from '../src/core/monitoring/log.ts'
import { type AssignedPartition, assignPartition, expectNext } from './assignedPartition.ts'
import { backoffMs } from './backoff.ts'
import { Room, recordBytes, trackedBytes } from './room.ts'
import type { StartOffset } from './startOffsets.ts'

/** How long a partition whose next record batch cannot be decoded stays paused before that batch is fetched again. */
const undecodableRetryMs = 5_000
const roomPollMs = 10
/** So long the records of one turn wait for room, and the batches of all other partitions behind them; then their topic is paused. */
const roomPatienceMs = 500
/** Records handled in one turn of the event loop, so that heartbeats and responses are not delayed. */
const recordsPerTurn = 100

/** What a consumer reads. */
export type Reading = {
  readonly source: KafkaSource
  readonly groupId: string
  readonly topics: readonly string[]
  /** How long (ms) a topic keeps a deletion for certain. */
  keptMs(topic: string): number
  readonly log: Logger
}

type ConsumerOptions = Reading & {
  /** Once records in flight take so many bytes, no other one is taken. */
  readonly maxInFlightBytes: number
  /** The start offset of each partition, by `partitionName`. */
  startOffsets(partitions: readonly TopicPartition[]): Promise<ReadonlyMap<string, StartOffset>>
  /** Processes a record and calls `onProcessed` once it is indexed, stale or dead-lettered. Must not throw. */
  onRecord(record: SourceRecord, assigned: AssignedPartition, onProcessed: () => void): void
  onRebalance(): void
  readonly random: () => number
}

/**
 * Reads the source topics as a member of a consumer group. Every assignment begins with new offset trackers, at `startOffsets`: records of
 * an earlier assignment that are processed later change nothing. A group member that crashes is replaced, with backoff.
 */
export class SourceConsumer {
  readonly #options: ConsumerOptions
  readonly #stop = new AbortController()
  #assigned = new Map<string, AssignedPartition>()
  #member: GroupMember | undefined
  #rejoin = new AbortController()
  /** Members that have crashed since one got its partitions. */
  #crashes = 0
  readonly #room: Room
  /** The topics that are paused until there is room for their records. */
  readonly #full = new Set<string>()
  #blockedReason: string | undefined = 'has not joined its group yet'

  constructor(options: ConsumerOptions) {
    this.#options = options
    this.#room = new Room(options.maxInFlightBytes, options.topics)
  }

  /** Bytes of the records that were taken and are not processed. */
  get inFlightBytes(): number {
    return this.#room.takenBytes
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
    const paused = this.assigned().filter(({ undecodable }) => undecodable !== undefined)
    const reasons = paused.map((each) => `${partitionName(each)}: ${each.undecodable?.message}`)
    return reasons.length > 0 ? reasons.join('; ') : undefined
  }

  /** Commits positions; rejects after a rebalance. */
  async commit(commits: readonly PartitionCommit[]): Promise<void> {
    await this.#member?.commit(commits)
  }

  /** Leaves the group and joins it again, to read from what was committed. */
  rejoin(): void {
    this.#rejoin.abort()
  }

  /** Reads until `pause` or `leave`. */
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
        this.#blockedReason = summaryOf(error)
        const attempts = ++this.#crashes
        this.#options.log.warn({ err: error, attempts }, 'consumer crashed; starting another')
        const restMs = backoffMs(attempts, this.#options.random)
        await sleep(restMs, undefined, { signal: this.#stop.signal }).catch(() => undefined)
      }
    }
  }

  /** Stops fetching. The partitions stay assigned, so that records in flight can still be committed. */
  pause(): void {
    this.#stop.abort()
    if (this.#assigned.size > 0) this.#member?.pause(this.assigned())
  }

  /** Leaves the group, so that its partitions are assigned to other indexers at once. */
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
        this.#blockedReason = 'waits for its partitions'
      },
      onAssigned: (partitions) => this.#startAssignment(member, partitions),
      onBatch: (batch) => this.#takeBatch(batch),
      onBatchEnd: (partition, from, lastOffset) => this.#endBatch(partitionName(partition), from, lastOffset),
    })
    return member
  }

  /** Fetches nothing until the start offsets are known: the committed offset may belong to another generation of indices. */
  async #startAssignment(member: GroupMember, partitions: readonly TopicPartition[]): Promise<void> {
    const { startOffsets, keptMs, log, onRebalance } = this.#options
    onRebalance()
    const none = this.#forgetAssignment()
    // False after another rebalance, and once the consumer is stopped.
    const isCurrent = (): boolean => this.#assigned === none && !this.#stop.signal.aborted
    try {
      const starts = await startOffsets(partitions)
      if (!isCurrent()) return
      const states = partitions.map((each) => assignPartition(each, starts.get(partitionName(each)), keptMs))
      member.readFrom(states)
      this.#assigned = new Map(states.map((state) => [partitionName(state), state]))
    } catch (error) {
      if (!isCurrent()) return
      throw error
    }
    this.#crashes = 0
    this.#blockedReason = undefined
    log.info({ partitions: [...this.#assigned.keys()] }, 'joined the group')
  }

  async #takeBatch(batch: FetchedBatch): Promise<boolean> {
    const { records, undecodable, position, gapBelow, skippedAtMs } = batch
    const state = this.#assigned.get(partitionName(batch))
    if (state === undefined || this.#full.has(batch.topic)) return false
    expectNext(state, position)
    if (gapBelow !== undefined) state.visible.noteGap(gapBelow)
    const isAssigned = (): boolean => this.#assigned.get(partitionName(batch)) === state
    if (skippedAtMs !== undefined) state.log.noteTime(position, skippedAtMs)
    let [taken, patience] = [0, { leftMs: roomPatienceMs }]
    for (const record of records) {
      if (++taken % recordsPerTurn === 0) {
        await nextTurn()
        patience = { leftMs: roomPatienceMs }
      }
      if (!(await this.#untilRoom(batch, patience)) || !isAssigned()) return false
      this.#take(copiedOut(record), state)
    }
    if (undecodable !== undefined) this.#pausePartition(undecodable, state)
    return undecodable === undefined
  }

  async #untilRoom({ topic, isReading, wait }: FetchedBatch, patience: { leftMs: number }): Promise<boolean> {
    while (isReading() && !this.#room.has(topic)) {
      if (patience.leftMs <= 0) {
        this.#full.add(topic)
        this.#member?.pause(this.assigned().filter((each) => each.topic === topic))
        return false
      }
      const beganAtMs = performance.now()
      await wait(roomPollMs)
      patience.leftMs -= performance.now() - beganAtMs
    }
    return isReading()
  }

  /** Goes on with paused topics once there is room for a fetch of their records. */
  #resumeTopics(): void {
    for (const topic of this.#full) {
      if (!this.#room.hasPlenty(topic) || this.#stop.signal.aborted) continue
      this.#full.delete(topic)
      this.#member?.resume(this.assigned().filter((each) => each.topic === topic))
    }
  }

  #take(record: SourceRecord, state: AssignedPartition): void {
    const bytes = recordBytes(record)
    state.log.noteTime(record.offset, record.appendedAtMs)
    const markProcessed = state.offsets.track(record.offset, record.appendedAtMs)
    this.#room.take(record.topic, bytes)
    this.#options.onRecord(record, state, () => {
      this.#room.take(record.topic, -bytes)
      // The next owner begins before a record that nobody has processed, such as a dead letter that was not written.
      if (!state.left.aborted) {
        const behind = state.processedBehind + 1 - markProcessed()
        this.#room.take(record.topic, (behind - state.processedBehind) * trackedBytes)
        state.processedBehind = behind
      }
      this.#resumeTopics()
    })
    state.nextOffset = record.offset + 1n
  }

  #forgetAssignment(): Map<string, AssignedPartition> {
    const left = this.assigned()
    this.#assigned = new Map()
    this.#full.clear()
    for (const { topic, processedBehind, leave } of left) {
      this.#room.take(topic, -processedBehind * trackedBytes)
      leave()
    }
    return this.#assigned
  }

  /** Pauses one partition and fetches its next batch again later: compaction may have removed the undecodable one. */
  #pausePartition(undecodable: Undecodable, state: AssignedPartition): void {
    const [member, { topic, partition }] = [this.#member, state]
    const problem = 'partition is paused: a record batch cannot be decoded'
    if (state.undecodable?.message !== undecodable.message)
      this.#options.log.error({ err: undecodable, topic, partition }, problem)
    state.undecodable = undecodable
    member?.pause([state])
    setTimeout(() => {
      const isStill = this.#assigned.get(partitionName(state)) === state && !this.#full.has(topic)
      if (isStill && !this.#stop.signal.aborted) member?.resume([state])
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
