import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { GenerationTag } from '../src/core/elasticsearch/indices.ts'
import type { OffsetRanges } from '../src/core/kafka/source.ts'
import { partitionName, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import type { Offset, TeamList } from '../src/core/model/ids.ts'
import { type CheckOutcome, failed, passed } from '../src/core/monitoring/health.ts'
import { summaryOf } from '../src/core/monitoring/log.ts'
import {
  maxListsPerRound,
  type PublishedPartition,
  type PublishedRound,
  type RoundReply,
} from '../src/core/redis/visiblePositions.ts'
import type { AssignedPartition } from './assignedPartition.ts'
import type { SourceConsumer } from './consumer.ts'
import { isCommitDue, type PartitionProgress, progressOf } from './partitionProgress.ts'
import { commitMetadata } from './startOffsets.ts'

/** `retired`: this indexer must write another generation. */
export type RoundResult = 'continue' | 'retired'

type PublisherOptions = {
  readonly consumer: Pick<SourceConsumer, 'assigned' | 'commit' | 'rejoin'>
  offsetRanges(): Promise<OffsetRanges>
  refresh(): Promise<void>
  /** Writes the round to Redis, in one script (`visiblePositions.ts`). */
  publishVisible(round: VisibleRound): Promise<RoundReply>
  /** Decides whether this generation must still be written. */
  afterRound(published: RoundReply): Promise<RoundResult>
  readonly tag: GenerationTag
  redisTimeMs(): Promise<number>
  /** Whether so many records are in flight that refreshes must be less frequent: refreshes slow writes down. */
  isBehind(): boolean
  readonly clock: () => number
  readonly elapsedMs: () => number
  readonly log: Logger
}

/** `ranges`: the offset range of every partition, also of those of other indexers. */
export type VisibleRound = Pick<PublishedRound, 'lists' | 'changesEveryList'> & {
  readonly partitions: readonly (TopicPartition & Omit<PublishedPartition, 'type'>)[]
  readonly ranges: OffsetRanges
}

/** Every record below offset `to` is visible, and so is every record that was appended before `timeMs` (epoch ms). */
export type VisiblePartition = TopicPartition & Pick<PublishedPartition, 'to' | 'timeMs'>

/** `low`: the first offset of the new log. */
export type ReplacedPartition = { readonly partition: AssignedPartition; readonly low: Offset }

/** The pause after a refresh is as long as the refresh, within these bounds (ms), so that a slow cluster is refreshed less often. */
const minRestMs = 25
const maxRestMs = 100
const restAfterFailureMs = 250
/** The interval (ms) of rounds while `isBehind`. */
const behindIntervalMs = 10_000
/** How often (ms) `isBehind` is called again while it delays a round. */
const behindCheckMs = 250
/** The interval (ms) of rounds while nothing is written: they keep the watermark and the commits recent. */
const idleIntervalMs = 1_000

/**
 * Publishes progress in rounds: refresh; positions and new list versions, in one script; commit. So every committed record is searchable, and no client reads a
 * position, list version or watermark ahead of the documents that a search returns.
 */
export class ProgressPublisher {
  readonly #options: PublisherOptions
  /** Lists with documents that were written since the last refresh. */
  #written = new Set<TeamList>()
  /** Lists with searchable changes whose new versions are not published yet. */
  readonly #refreshed = new Set<TeamList>()
  /** The round in progress. A concurrent round could commit records before they are refreshed. */
  #round: Promise<unknown> = Promise.resolve()
  #roundBeganAtMs = Number.NEGATIVE_INFINITY
  /** When the pause after a refresh or a failed round ends (`elapsedMs`). */
  #restUntilMs = Number.NEGATIVE_INFINITY
  #wake = (): void => undefined
  /** How far the clock of this process is ahead of the clock of Redis (ms). */
  clockOffsetMs: number | undefined
  health: CheckOutcome = passed

  constructor(options: PublisherOptions) {
    this.#options = options
  }

  /**
   * Notes that a record of the list has its outcome: the next round refreshes, and publishes a new version of the list. Also necessary
   * - for a stale record: another indexer may have stored the record, and crashed before it refreshed and published;
   * - for a rejected record: its list document may have been stored before its detail document was rejected.
   */
  noteWrite(list: TeamList): void {
    const isFirst = this.#written.size === 0
    this.#written.add(list)
    if (isFirst) this.#wake()
  }

  /** The owned partitions with a published position, each with the offset below which every record is both visible and committed. */
  visible(): readonly VisiblePartition[] {
    return this.#options.consumer.assigned().flatMap(({ topic, partition, visible, committed, start }) => {
      const { visibleTo, visibleAtMs } = visible
      if (visibleTo === undefined) return []
      const { position, coveredUntilMs } = committed ?? start
      return position < visibleTo
        ? [{ topic, partition, to: position, timeMs: Math.min(visibleAtMs, coveredUntilMs) }]
        : [{ topic, partition, to: visibleTo, timeMs: visibleAtMs }]
    })
  }

  /** Publishes until `signal` aborts or the generation is retired. The next round repeats failed steps. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const waitMs = this.#dueInMs()
      if (waitMs > 0) {
        await this.#pause(waitMs, signal)
        continue
      }
      try {
        const result = await this.publish()
        this.health = passed
        if (result === 'retired') return
      } catch (error) {
        this.health = failed(summaryOf(error))
        this.#restUntilMs = this.#options.elapsedMs() + restAfterFailureMs
        this.#options.log.warn({ err: error }, 'progress could not be published; trying again')
      }
    }
  }

  /** Milliseconds until the next round is due (0 or less: now), or until `isBehind` is to be called again. */
  #dueInMs(): number {
    const { elapsedMs, isBehind } = this.#options
    const nowMs = elapsedMs()
    const sinceMs = nowMs - this.#roundBeganAtMs
    const restMs = this.#restUntilMs - nowMs
    if (this.#written.size === 0) return Math.max(restMs, idleIntervalMs - sinceMs)
    if (!isBehind()) return restMs
    return Math.min(behindCheckMs, Math.max(restMs, behindIntervalMs - sinceMs))
  }

  /** Sleeps for `forMs`, or until the first write since the last refresh. */
  async #pause(forMs: number, signal: AbortSignal): Promise<void> {
    const pause = new AbortController()
    this.#wake = () => pause.abort()
    await sleep(forMs, undefined, { signal: AbortSignal.any([signal, pause.signal]) }).catch(() => undefined)
  }

  /** Runs one round, after the round in progress. */
  publish(): Promise<RoundResult> {
    const round = this.#round.then(() => this.#publishOnce())
    this.#round = round.catch(() => undefined)
    return round
  }

  /**
   * Reads replaced logs from their first offsets (`low`): commits these offsets, and joins the group again. Otherwise records of the new logs below the former
   * commits would be neither read nor, if rejected, written as dead letters.
   */
  readAgain(replaced: readonly ReplacedPartition[]): Promise<void> {
    const { consumer, tag } = this.#options
    const rereading = this.#round.then(async () => {
      const assigned = consumer.assigned()
      const owned = replaced.filter(({ partition }) => assigned.includes(partition))
      if (owned.length === 0) return
      const commits = owned.map(({ partition: { topic, partition, coverage, log }, low }) => {
        const metadata = commitMetadata(tag, 0n, coverage.coveredUntilMs, log.state(low))
        return { topic, partition, position: low, metadata }
      })
      await consumer.commit(commits)
      consumer.rejoin()
    })
    this.#round = rereading.catch(() => undefined)
    return rereading
  }

  async #publishOnce(): Promise<RoundResult> {
    const { consumer, offsetRanges, elapsedMs } = this.#options
    this.#roundBeganAtMs = elapsedMs()
    const owned = consumer.assigned().map((partition) => ({
      partition,
      readBefore: partition.log.prefixUpTo(partition.offsets.progress().position).below,
    }))
    // 1. Clocks, then end offsets: every record at or beyond an end was appended after `beforeQueryMs`.
    const beforeQueryMs = await this.#readClocks()
    const ranges = await offsetRanges()
    // 2. Positions, before the refresh: a write that is acknowledged while the refresh runs may still not be searchable after it.
    const progress = owned.map(({ partition, readBefore }) =>
      progressOf(partition, ranges.get(partitionName(partition))?.high, beforeQueryMs, readBefore),
    )
    // 3. Refresh: now every record below these positions is searchable.
    await this.#makeSearchable(ranges)
    // 4. Positions, times and list versions, in one script: clients see the progress.
    const published = await this.#publishVisible(progress, ranges)
    // 5. Commit: the next owner starts at the positions.
    await this.#commit(progress)
    return await this.#options.afterRound(published)
  }

  /** Epoch ms by the clock of this process or of Redis, whichever is behind: a clock that is ahead would make the watermark too high. */
  async #readClocks(): Promise<number> {
    const { clock, redisTimeMs } = this.#options
    const beforeMs = clock()
    const redisMs = await redisTimeMs()
    this.clockOffsetMs = (beforeMs + clock()) / 2 - redisMs
    return Math.min(beforeMs, redisMs)
  }

  /**
   * Refreshes the indices if anything was written. If a shard has no primary, the refresh fails, but has made the changes in other shards visible. So the
   * written lists get new versions at once: otherwise the API would serve cached answers until the shard has a primary. The lists get new versions once more
   * with their positions (`PublishedPosition.changedBelow`).
   */
  async #makeSearchable(ranges: OffsetRanges): Promise<void> {
    const { refresh, elapsedMs, publishVisible } = this.#options
    const written = this.#written
    if (written.size === 0) return
    const beganAtMs = elapsedMs()
    // A list that is written during the refresh is part of the next one.
    this.#written = new Set()
    await refresh().catch(async (error: unknown) => {
      for (const list of written) this.#written.add(list)
      await publishVisible({ ...listsOrAll([...written]), partitions: [], ranges })
      throw error
    })
    const endedAtMs = elapsedMs()
    this.#restUntilMs = endedAtMs + Math.min(Math.max(endedAtMs - beganAtMs, minRestMs), maxRestMs)
    for (const list of written) this.#refreshed.add(list)
  }

  /**
   * Publishes positions and list versions. A partition is withheld while its log may have been replaced, and while the index is in a state that the log never
   * had (`PublishedPosition.isStateOfLog`). For a withheld partition, and while a rebuild has the lock of the switch, only list versions are published. The
   * next publication of the partition changes the version of every list.
   */
  async #publishVisible(progress: readonly PartitionProgress[], ranges: OffsetRanges): Promise<RoundReply> {
    const visible = progress.filter(
      ({ partition, position, isDoubted }) =>
        !isDoubted && !partition.log.isDoubted && partition.visible.isStateOfLog(position),
    )
    const changed = visible.flatMap(({ partition, position }) => partition.visible.changedBelow(position))
    const lists = [...new Set([...this.#refreshed, ...changed])]
    const { changesEveryList, ...named } = listsOrAll(lists)
    const published = await this.#options.publishVisible({
      ...named,
      changesEveryList: changesEveryList || visible.some(({ partition }) => partition.visible.hasUnpublishedLists),
      partitions: visible.map(({ partition, position, coveredUntilMs }) => ({
        topic: partition.topic,
        partition: partition.partition,
        from: partition.visible.from,
        to: position,
        timeMs: coveredUntilMs,
      })),
      ranges,
    })
    for (const list of lists) this.#refreshed.delete(list)
    for (const partitionProgress of progress) {
      const { partition, position, coveredUntilMs } = partitionProgress
      const isPublished = published.outcome !== 'locked' && visible.includes(partitionProgress)
      partition.visible.endRound(isPublished ? { to: position, timeMs: coveredUntilMs } : 'withheld')
    }
    return published
  }

  async #commit(progress: readonly PartitionProgress[]): Promise<void> {
    const { consumer, tag } = this.#options
    // If a partition was reassigned during this round, the commit of its new owner must not be overwritten by a lower commit.
    const assigned = consumer.assigned()
    const due = progress
      .filter((partitionProgress) => isCommitDue(partitionProgress) && assigned.includes(partitionProgress.partition))
      .map(({ partition, position, coveredUntilMs }) => {
        return { partition, position, coveredUntilMs, log: partition.log.state(position) }
      })
    if (due.length === 0) return
    await consumer.commit(
      due.map(({ partition: { topic, partition, start }, position, coveredUntilMs, log }) => {
        const metadata = commitMetadata(tag, start.deadLetteredBelow, coveredUntilMs, log)
        return { topic, partition, position, metadata }
      }),
    )
    for (const { partition, position, coveredUntilMs, log } of due)
      partition.committed = { position, coveredUntilMs, isReplaced: log.isReplaced }
  }
}

function listsOrAll(lists: readonly TeamList[]): Pick<VisibleRound, 'lists' | 'changesEveryList'> {
  const isBeyondBound = lists.length > maxListsPerRound
  return { lists: isBeyondBound ? [] : lists, changesEveryList: isBeyondBound }
}
