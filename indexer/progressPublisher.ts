import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { GenerationTag } from '../src/core/elasticsearch/indices.ts'
import type { OffsetRanges } from '../src/core/kafka/source.ts'
import { partitionName, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import type { Offset, TeamList } from '../src/core/model/ids.ts'
import { type CheckOutcome, failed, passed } from '../src/core/monitoring/health.ts'
import { summaryOf } from '../src/core/monitoring/log.ts'
import { maxListsPerRound, type PublishedPartition, type RoundReply } from '../src/core/redis/visiblePositions.ts'
import type { AssignedPartition } from './assignedPartition.ts'
import type { SourceConsumer } from './consumer.ts'
import { isCommitDue, type PartitionProgress, progressOf } from './partitionProgress.ts'
import type { VisibleRound } from './roundForRedis.ts'
import { commitMetadata } from './startOffsets.ts'

/** What to do after a round. `retired`: this indexer must write another generation (another build of the indices). */
export type RoundResult = 'continue' | 'retired'

type PublisherOptions = {
  readonly consumer: Pick<SourceConsumer, 'assigned' | 'commit' | 'rejoin'>
  /** The first and the end offset of every partition, now. */
  offsetRanges(): Promise<OffsetRanges>
  /** Makes every acknowledged write searchable. */
  refresh(): Promise<void>
  /** Writes the round to Redis, in one script (`visiblePositions.ts`). */
  publishVisible(round: VisibleRound): Promise<RoundReply>
  /** Decides whether this generation must still be written. */
  afterRound(published: RoundReply): Promise<RoundResult>
  /** Names the generation in commits. */
  readonly tag: GenerationTag
  /** The clock of Redis (epoch ms). */
  redisTimeMs(): Promise<number>
  /** Whether so many records are in flight that refreshes must be less frequent: refreshes slow writes down. */
  isBehind(): boolean
  /** Epoch ms. */
  readonly clock: () => number
  /** A monotonic clock (ms). */
  readonly elapsedMs: () => number
  readonly log: Logger
}

/** Every record below offset `to` is visible, and so is every record that was appended before `timeMs` (epoch ms). */
export type VisiblePartition = TopicPartition & Pick<PublishedPartition, 'to' | 'timeMs'>

/** `low`: the first offset of the new log. */
export type ReplacedPartition = { readonly partition: AssignedPartition; readonly low: Offset }

/** The rest after a refresh is as long as the refresh, within these bounds (ms), so that a slow cluster is refreshed less often. */
const minRestMs = 25
const maxRestMs = 100
/** The rest after a failed round. */
const restAfterFailureMs = 250
/** The interval (ms) of rounds while `isBehind`. */
const behindIntervalMs = 10_000
/** How often (ms) `isBehind` is called again while it delays a round. */
const behindCheckMs = 250
/** The interval (ms) of rounds while nothing is written: they keep the watermark and the commits recent. */
const idleIntervalMs = 1_000

/**
 * Publishes progress in rounds:
 * 1. Elasticsearch refreshes the indices.
 * 2. One script writes positions, and new versions of changed lists (the forms or submissions of a team), to Redis. So no client reads a position, list version
 *    or watermark ahead of the documents that a search returns.
 * 3. Kafka gets the commits. So every committed record is searchable.
 */
export class ProgressPublisher {
  readonly #options: PublisherOptions
  /** Lists with documents that were written since the last refresh. */
  #written = new Set<TeamList>()
  /** Lists with searchable changes whose new versions are not published yet. */
  readonly #refreshed = new Set<TeamList>()
  /** Ends with the round in progress; the next one waits for this. Of two concurrent rounds, one could commit records before the other has refreshed them. */
  #round: Promise<unknown> = Promise.resolve()
  #roundBeganAtMs = Number.NEGATIVE_INFINITY
  /** When the rest after a refresh or a failed round ends (`elapsedMs`). */
  #restUntilMs = Number.NEGATIVE_INFINITY
  /** Ends the pause of `run`, if it pauses. */
  #wake = (): void => undefined
  /** How far the clock of this process is ahead of the clock of Redis (ms; negative: behind); undefined before the first round. */
  clockOffsetMs: number | undefined
  /** Fails after a failed round. */
  health: CheckOutcome = passed

  constructor(options: PublisherOptions) {
    this.#options = options
  }

  /**
   * Notes that a record of the list has its outcome: the next round refreshes, and publishes a new version of the list. This is necessary even
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
      const { position: committedBelow, coveredUntilMs } = committed ?? start
      if (committedBelow >= visibleTo) return [{ topic, partition, to: visibleTo, timeMs: visibleAtMs }]
      return [{ topic, partition, to: committedBelow, timeMs: Math.min(visibleAtMs, coveredUntilMs) }]
    })
  }

  /** Publishes until `signal` aborts, or another generation must be written. After a failed round, the next one repeats the failed steps. */
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
    const restMs = this.#restUntilMs - nowMs
    const untilIntervalMs = (intervalMs: number): number => Math.max(restMs, this.#roundBeganAtMs + intervalMs - nowMs)
    if (this.#written.size === 0) return untilIntervalMs(idleIntervalMs)
    if (!isBehind()) return restMs
    return Math.min(behindCheckMs, untilIntervalMs(behindIntervalMs))
  }

  /** Sleeps for `forMs`, or until `signal` aborts, or until `noteWrite` notes the first write since the last refresh. */
  async #pause(forMs: number, signal: AbortSignal): Promise<void> {
    const pause = new AbortController()
    this.#wake = () => pause.abort()
    await sleep(forMs, undefined, { signal: AbortSignal.any([signal, pause.signal]) }).catch(() => undefined)
  }

  /** Runs one round, once the round in progress has ended. */
  publish(): Promise<RoundResult> {
    const round = this.#round.then(() => this.#publishOnce())
    this.#round = round.catch(() => undefined)
    return round
  }

  /**
   * Reads replaced logs from their first offsets (`low`): commits these offsets, and joins the group again. Otherwise the records of the new logs below the
   * former commits would never be read, and those that break the contract would get no dead letter.
   */
  readAgain(replaced: readonly ReplacedPartition[]): Promise<void> {
    const { consumer, tag } = this.#options
    const rereading = this.#round.then(async () => {
      const assigned = consumer.assigned()
      const owned = replaced.filter(({ partition }) => assigned.includes(partition))
      if (owned.length === 0) return
      const commits = owned.map(({ partition: { topic, partition, coverage, log }, low }) => {
        // 0: no record of the new log has a dead letter yet.
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
    // `readBefore`: every record below this offset was read, in this assignment or an earlier one. Noted before the ends are queried: an end below it shows that
    // the log has lost records.
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

  /** The lower time (epoch ms) of two clocks, of this process and of Redis: a clock that is ahead would make the watermark too high. */
  async #readClocks(): Promise<number> {
    const { clock, redisTimeMs } = this.#options
    const beforeMs = clock()
    const redisMs = await redisTimeMs()
    const ownMsAtReply = clock()
    // Redis has read its clock about in the middle between both readings of the own clock.
    this.clockOffsetMs = (beforeMs + ownMsAtReply) / 2 - redisMs
    return Math.min(beforeMs, redisMs)
  }

  /**
   * Refreshes the indices if anything was written. If a shard has no primary:
   * 1. The refresh fails, but has made the changes in other shards searchable.
   * 2. So the written lists get new versions at once. Otherwise the API would serve cached answers until the shard has a primary.
   * 3. Once a round succeeds, the lists get new versions again, with their positions (`PublishedPosition.changedBelow`).
   */
  async #makeSearchable(ranges: OffsetRanges): Promise<void> {
    const { refresh, elapsedMs, publishVisible } = this.#options
    const written = this.#written
    if (written.size === 0) return
    const beganAtMs = elapsedMs()
    // From here on, `noteWrite` adds to the set of the next refresh.
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
   * Publishes positions and list versions. The position of a partition is withheld
   * - while its log may have been replaced by another one: its end was below a record that was read before, or a check doubts it;
   * - while the index is in a state that the log never had (`PublishedPosition.isStateOfLog`);
   * - while a rebuild switches readers to its generation: the reply is `locked`.
   *
   * Then only list versions are published. The next publication of the partition's position changes the version of every list.
   */
  async #publishVisible(progress: readonly PartitionProgress[], ranges: OffsetRanges): Promise<RoundReply> {
    const visible = progress.filter(
      ({ partition, position, isDoubted }) =>
        !isDoubted && !partition.log.isDoubted && partition.visible.isStateOfLog(position),
    )
    const changed = visible.flatMap(({ partition, position }) => partition.visible.changedBelow(position))
    const lists = [...new Set([...this.#refreshed, ...changed])]
    const listChange = listsOrAll(lists)
    const wasWithheld = visible.some(({ partition }) => partition.visible.wasWithheld)
    const published = await this.#options.publishVisible({
      lists: listChange.lists,
      changesEveryList: listChange.changesEveryList || wasWithheld,
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
    // If a partition was reassigned during this round, its new owner may have committed a higher position, which must not be overwritten.
    const assigned = consumer.assigned()
    const due = progress.filter(
      (partitionProgress) => isCommitDue(partitionProgress) && assigned.includes(partitionProgress.partition),
    )
    if (due.length === 0) return
    const commits = due.map(({ partition: state, position, coveredUntilMs }) => {
      const { topic, partition, start } = state
      const log = state.log.state(position)
      const metadata = commitMetadata(tag, start.deadLetteredBelow, coveredUntilMs, log)
      const committed = { position, coveredUntilMs, isReplaced: log.isReplaced }
      return { state, committed, commit: { topic, partition, position, metadata } }
    })
    await consumer.commit(commits.map(({ commit }) => commit))
    for (const { state, committed } of commits) state.committed = committed
  }
}

/** The lists that get new versions by name, up to a bound; all lists if there are more. */
function listsOrAll(lists: readonly TeamList[]): Pick<VisibleRound, 'lists' | 'changesEveryList'> {
  const isBeyondBound = lists.length > maxListsPerRound
  return { lists: isBeyondBound ? [] : lists, changesEveryList: isBeyondBound }
}
