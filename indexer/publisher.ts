import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { PartitionCommit } from '../src/core/kafka/consumerGroup.ts'
import type { OffsetRange } from '../src/core/kafka/source.ts'
import { partitionName, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import type { TeamList } from '../src/core/model/teamList.ts'
import { summaryOf } from '../src/core/process/log.ts'
import type { AssignedPartition } from './assignedPartition.ts'
import type { StartOffset } from './committedOffsets.ts'
import { isCaughtUp, type OffsetTracker, type Progress, partitionWatermark } from './offsetTracker.ts'
import type { AcknowledgedWrites, PendingWrites } from './pendingWrites.ts'

/** How far a partition is visible: every record below `position` is. */
export type VisiblePosition = TopicPartition & { readonly position: bigint }

/**
 * The result of one round of publishing. `displaced`: another indexer has claimed a partition, so that nothing was published;
 * `retired`: another generation is written and published from now on, so that this publisher must stop.
 */
export type RoundResult = 'continue' | 'displaced' | 'retired'

/** What the publisher reads and writes in Redis, for a generation that readers see. */
export type PublisherRedis = {
  /** What the clock of Redis reads (epoch ms). */
  redisTimeMs(): Promise<number>
  /** Stores how far (ms) `changedAt` of a record lies above its append time, before the record becomes visible. */
  noteRaised(changedAtRaisedByMs: number): Promise<void>
  /** Replaces the change tokens of these lists, which makes the ETags that readers keep outdated. */
  replaceChangeTokens(lists: readonly TeamList[]): Promise<void>
  /**
   * Publishes the watermarks (epoch ms) of the partitions that `owner` has claimed; `known` holds every partition of the topics. By
   * `partitionName`.
   */
  publishWatermarks(
    owner: string,
    watermarks: ReadonlyMap<string, number>,
    known: ReadonlyMap<string, TopicPartition>,
  ): Promise<RoundResult>
}

type PublisherOptions = {
  assigned(): readonly AssignedPartition[]
  /** The offset range of every partition of the source topics, by `partitionName`. */
  offsetRanges(): Promise<ReadonlyMap<string, OffsetRange & TopicPartition>>
  /** Makes every acknowledged write searchable. */
  refresh(): Promise<void>
  commit(commits: readonly PartitionCommit[]): Promise<void>
  /** The metadata of a partition's commit. */
  commitMetadata(start: StartOffset, coveredAtMs: number, promisedMs: number): string
  /** Undefined while the generation is rebuilt: it has no readers. */
  readonly redis: PublisherRedis | undefined
  /** Undefined while the generation is rebuilt. */
  readonly pending: Pick<PendingWrites, 'mark' | 'acknowledged' | 'settle'> | undefined
  /** Whether many writes are in flight; then refreshes are less frequent. */
  isBehind(): boolean
  /** Joins the group again, after another indexer has claimed a partition. */
  rejoin(): void
  readonly clock: () => number
  /** Time that never steps (ms). */
  readonly elapsedMs: () => number
  readonly log: Logger
}

/** After a refresh comes a rest of so many times its duration, so that refreshing takes a fifth of the time, or as much as `maxRestMs` leaves. */
const restFactor = 4
const minRestMs = 50
const maxRestMs = 250
/** How often it is looked whether the indexer is still behind. */
const behindCheckMs = 250
const behindIntervalMs = 10_000
const idleIntervalMs = 1_000
/**
 * How far the brokers' clocks, which stamp append times, may be from ours without changing any `changedAt`. Commits allow watermarks of an idle
 * partition so far ahead, so that it is committed about once in this time.
 */
const allowedSkewMs = 1_000

/** A partition as one round of publishing sees it. `promisedMs`: the greatest watermark that its commit is to allow. */
type PartitionProgress = AssignedPartition &
  Pick<StartOffset, 'coveredAtMs' | 'promisedMs'> & {
    readonly progress: Progress
    readonly watermarkMs: number | undefined
  }

/** What the last commit of a partition says. */
type Committed = Pick<StartOffset, 'position' | 'promisedMs'>

/**
 * Makes progress visible, always in this order: refresh, change tokens, marks of pending writes, commit, watermark. Therefore committed
 * records are searchable, no reader who has seen a watermark is answered "not changed" for older content, a list has a mark or a new
 * change token as soon as a change of it can be seen, and the watermark covers only what is searchable. Marks that a crash leaves are
 * of records that are not committed. No watermark is published above what the commits of its partitions allow: Redis may lose the newest,
 * and the next owner of a partition knows from its commit below which time no record may be dated.
 */
export class Publisher {
  readonly #options: PublisherOptions
  readonly #committed = new WeakMap<OffsetTracker, Committed>()
  /** Lists whose documents were written since the last refresh. */
  #written = new Set<TeamList>()
  /** Lists that were refreshed and whose change tokens are still to be replaced. */
  readonly #refreshed = new Set<TeamList>()
  /** The round in progress. Concurrent rounds could commit what the other one has not refreshed yet. */
  #round: Promise<unknown> = Promise.resolve()
  #publishedAtMs = Number.NEGATIVE_INFINITY
  /** The end of the rest after the last refresh, or after a failed round. */
  #restedAtMs = Number.NEGATIVE_INFINITY
  /** Ends the pause of `run`. */
  #wake = (): void => undefined
  #changedAtRaisedByMs = 0
  #clockOffsetMs: number | undefined
  #blockedReason: string | undefined

  constructor(options: PublisherOptions) {
    this.#options = options
  }

  /** Notes an acknowledged or stale write. A stale one was written by somebody who may not have refreshed it or replaced its token. */
  noteWrite(list: TeamList): void {
    const isFirst = this.#written.size === 0
    this.#written.add(list)
    if (isFirst) this.#wake()
  }

  /** Why progress does not become visible; undefined while it does. */
  blockedReason(): string | undefined {
    return this.#blockedReason
  }

  /** How far our clock is ahead of that of Redis (ms); undefined before the first round. */
  clockOffsetMs(): number | undefined {
    return this.#clockOffsetMs
  }

  /** How far every owned partition is visible, and committed. */
  positions(): readonly VisiblePosition[] {
    return this.#options.assigned().map(({ topic, partition, offsets, start }) => {
      const { position } = this.#committed.get(offsets) ?? start
      return { topic, partition, position }
    })
  }

  /** Publishes until `signal` aborts or the generation is retired; a failed step is repeated in the next round. */
  async run(signal: AbortSignal): Promise<void> {
    while (await this.#untilDue(signal)) {
      try {
        const result = await this.publish()
        this.#blockedReason = undefined
        if (result === 'retired') return
      } catch (error) {
        this.#blockedReason = summaryOf(error)
        this.#restedAtMs = this.#options.elapsedMs() + maxRestMs
        this.#options.log.warn({ err: error }, 'progress could not be published; trying again')
      }
    }
  }

  /** Waits until a round is due; false once `signal` aborts. */
  async #untilDue(signal: AbortSignal): Promise<boolean> {
    for (let waitMs = this.#dueInMs(); waitMs > 0 && !signal.aborted; waitMs = this.#dueInMs())
      await this.#pause(waitMs, signal)
    return !signal.aborted
  }

  /** After how long it must be looked again whether a round is due; it is due when that is not positive. */
  #dueInMs(): number {
    const { elapsedMs, isBehind } = this.#options
    const nowMs = elapsedMs()
    const sinceMs = nowMs - this.#publishedAtMs
    const restMs = this.#restedAtMs - nowMs
    if (this.#written.size === 0) return Math.max(restMs, idleIntervalMs - sinceMs)
    if (!isBehind()) return restMs
    return Math.min(behindCheckMs, Math.max(restMs, behindIntervalMs - sinceMs))
  }

  /** Pauses until the first write of a round, at most for so long. */
  async #pause(forMs: number, signal: AbortSignal): Promise<void> {
    const pause = new AbortController()
    this.#wake = () => pause.abort()
    signal.addEventListener('abort', this.#wake, { once: true })
    await sleep(forMs, undefined, { signal: pause.signal }).catch(() => undefined)
    signal.removeEventListener('abort', this.#wake)
  }

  /** Runs one round after the one in progress. Throws the error of a failed step; the next round makes up for the rest. */
  publish(): Promise<RoundResult> {
    const round = this.#round.then(() => this.#publishOnce())
    this.#round = round.catch(() => undefined)
    return round
  }

  /**
   * The steps of a round. Each step takes what it works on by itself, and gives it back when it fails: whichever step fails, the next round
   * finds all that is left to do.
   */
  async #publishOnce(): Promise<RoundResult> {
    const { assigned, offsetRanges, elapsedMs, pending } = this.#options
    this.#publishedAtMs = elapsedMs()
    const owned = assigned()
    // The clocks are read before the end offsets, so that a record beyond those was appended after that reading.
    const askedAtMs = await this.#readClocks()
    const ranges = await offsetRanges()
    const partitions = owned.map((each) => decideWatermark(each, ranges.get(partitionName(each))?.high, askedAtMs))
    await this.#noteRaised(partitions)
    // What Redis did not hear before, and what it would soon forget.
    await pending?.mark()
    const searchable = await this.#makeSearchable()
    await this.#replaceChangeTokens()
    if (searchable !== undefined) await pending?.settle(searchable)
    await this.#commit(partitions)
    return await this.#publishWatermarks(partitions, ranges)
  }

  /** The reading of the slower one of two clocks, ours and that of Redis (epoch ms). */
  async #readClocks(): Promise<number> {
    const { clock, redis } = this.#options
    const beforeMs = clock()
    if (redis === undefined) return beforeMs
    const redisMs = await redis.redisTimeMs()
    this.#clockOffsetMs = (beforeMs + clock()) / 2 - redisMs
    return Math.min(beforeMs, redisMs)
  }

  async #noteRaised(partitions: readonly PartitionProgress[]): Promise<void> {
    const changedAtRaisedByMs = Math.max(0, ...partitions.map(({ changeTimes }) => changeTimes.changedAtRaisedByMs))
    if (changedAtRaisedByMs <= this.#changedAtRaisedByMs) return
    await this.#options.redis?.noteRaised(changedAtRaisedByMs)
    this.#changedAtRaisedByMs = changedAtRaisedByMs
  }

  async #publishWatermarks(
    partitions: readonly PartitionProgress[],
    known: ReadonlyMap<string, TopicPartition>,
  ): Promise<RoundResult> {
    const { redis, assigned, rejoin } = this.#options
    if (redis === undefined) return 'continue'
    // All partitions of an assignment have one owner.
    const owner = partitions[0]?.owner ?? ''
    const decided = partitions.flatMap((each) => {
      const { offsets, watermarkMs } = each
      const allowedMs = this.#committed.get(offsets)?.promisedMs ?? 0
      return watermarkMs === undefined || watermarkMs > allowedMs ? [] : [[partitionName(each), watermarkMs] as const]
    })
    const result = await redis.publishWatermarks(owner, new Map(decided), known)
    // A rebalance during this round may have made a new claim of our own.
    if (result === 'displaced' && assigned()[0]?.owner === owner) rejoin()
    return result
  }

  /** Refreshes what was written until now. Returns the acknowledged writes that can be seen from then on. */
  async #makeSearchable(): Promise<AcknowledgedWrites | undefined> {
    const { refresh, elapsedMs, pending } = this.#options
    const acknowledged = pending?.acknowledged()
    const written = this.#written
    if (written.size === 0) return acknowledged
    const beganAtMs = elapsedMs()
    // A list that is written during the refresh waits for the next one.
    this.#written = new Set()
    await refresh().catch((error: unknown) => {
      for (const list of written) this.#written.add(list)
      throw error
    })
    const endedAtMs = elapsedMs()
    this.#restedAtMs = endedAtMs + Math.min(Math.max(restFactor * (endedAtMs - beganAtMs), minRestMs), maxRestMs)
    for (const list of written) this.#refreshed.add(list)
    return acknowledged
  }

  async #replaceChangeTokens(): Promise<void> {
    if (this.#refreshed.size === 0) return
    await this.#options.redis?.replaceChangeTokens([...this.#refreshed])
    this.#refreshed.clear()
  }

  async #commit(partitions: readonly PartitionProgress[]): Promise<void> {
    const { assigned, commit, commitMetadata } = this.#options
    // A rebalance during this round may have given the partition to another indexer, whose commits must not be overwritten.
    const current = new Set(assigned().map(({ offsets }) => offsets))
    const due = partitions.filter(({ offsets, progress, coverage, coveredAtMs, watermarkMs = 0 }) => {
      const { position, promisedMs } = this.#committed.get(offsets) ?? { position: -1n, promisedMs: 0 }
      const isDue = progress.position > position || coverage.isCommitDue(coveredAtMs) || watermarkMs > promisedMs
      return isDue && current.has(offsets)
    })
    if (due.length === 0) return
    await commit(
      due.map(({ topic, partition, progress, start, coveredAtMs, promisedMs }) => {
        const metadata = commitMetadata(start, coveredAtMs, promisedMs)
        return { topic, partition, position: progress.position, metadata }
      }),
    )
    for (const { offsets, progress, coverage, coveredAtMs, promisedMs } of due) {
      this.#committed.set(offsets, { position: progress.position, promisedMs })
      coverage.committed(coveredAtMs)
    }
  }
}

/**
 * The progress of a partition and its watermark, which is never in the future, whatever the brokers' clocks read. No record that is read
 * from now on has a `changedAt` below it.
 */
function decideWatermark(partition: AssignedPartition, high: bigint | undefined, askedAtMs: number): PartitionProgress {
  const progress = partition.offsets.progress()
  const end = high === undefined ? undefined : { offset: high, askedAtMs }
  const known = partitionWatermark(progress, end, allowedSkewMs)
  const watermarkMs = known === undefined ? undefined : Math.min(known, askedAtMs)
  if (watermarkMs !== undefined) partition.changeTimes.watermarkDecided(watermarkMs)
  if (end !== undefined) partition.coverage.note(progress.position, end)
  // Not ahead of a record that is read already: its next owner would date it by the promise, and wait for it no longer.
  const aheadMs = isCaughtUp(progress, end) ? askedAtMs : (watermarkMs ?? 0)
  const promisedMs = Math.max(partition.start.promisedMs, aheadMs)
  return { ...partition, progress, watermarkMs, promisedMs, coveredAtMs: partition.coverage.coveredAtMs }
}
