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

/** `retired`: this indexer must write another generation. */
export type RoundResult = 'continue' | 'retired'

type PublisherOptions = {
  readonly consumer: Pick<SourceConsumer, 'assigned' | 'commit' | 'rejoin'>
  offsetRanges(): Promise<OffsetRanges>
  refresh(): Promise<void>
  publishVisible(round: VisibleRound): Promise<RoundReply>
  afterRound(published: RoundReply): Promise<RoundResult>
  readonly tag: GenerationTag
  redisTimeMs(): Promise<number>
  /** Whether refreshes, which slow writes down, must be rarer. */
  isBehind(): boolean
  /** Epoch ms. */
  readonly clock: () => number
  /** Monotonic. */
  readonly elapsedMs: () => number
  readonly log: Logger
}

/** Everything below offset `to`, and everything appended before `timeMs` (epoch ms), is visible. */
export type VisiblePartition = TopicPartition & Pick<PublishedPartition, 'to' | 'timeMs'>

/** `low`: the first offset of the new log. */
export type ReplacedPartition = { readonly partition: AssignedPartition; readonly low: Offset }

/** Bounds (ms) of the rest after a refresh, which is as long as the refresh, to spare a slow cluster. */
const minRestMs = 25
const maxRestMs = 100
const restAfterFailureMs = 250
/** While the indexer is behind, a round starts so often, and a check so often whether it has caught up. */
const behindIntervalMs = 10_000
const behindCheckMs = 250
/** The interval (ms) of rounds without writes: they keep the watermark and the commits recent. */
const idleIntervalMs = 1_000

/**
 * Publishes progress in rounds: refresh, publication in Redis, commit. So clients never read a position or list version ahead of the documents that a search
 * returns, and every committed record is searchable.
 */
export class ProgressPublisher {
  readonly #options: PublisherOptions
  #written = new Set<TeamList>()
  /** Lists with searchable changes whose new versions are not published yet. */
  readonly #refreshed = new Set<TeamList>()
  /** The round in progress. Of two concurrent rounds, one could commit records before the other has refreshed them. */
  #round: Promise<unknown> = Promise.resolve()
  #roundBeganAtMs = Number.NEGATIVE_INFINITY
  #restUntilMs = Number.NEGATIVE_INFINITY
  #wake = (): void => undefined
  /** How far this process's clock is ahead of Redis's (ms); undefined before the first round. */
  clockOffsetMs: number | undefined
  health: CheckOutcome = passed

  constructor(options: PublisherOptions) {
    this.#options = options
  }

  /**
   * Makes the next round refresh, and publish a new list version. This is necessary even for a stale record, since another indexer may have stored it, and
   * crashed before it published; and for a rejected record, since its list document may have been stored before its detail document was rejected.
   */
  noteWrite(list: TeamList): void {
    const isFirst = this.#written.size === 0
    this.#written.add(list)
    if (isFirst) this.#wake()
  }

  /** The owned partitions with a published position. Below `to`, every record is visible and committed. */
  visible(): readonly VisiblePartition[] {
    return this.#options.consumer.assigned().flatMap(({ topic, partition, visible, committed, start }) => {
      const { visibleTo, visibleAtMs } = visible
      if (visibleTo === undefined) return []
      const { position: committedBelow, coveredUntilMs } = committed ?? start
      if (committedBelow >= visibleTo) return [{ topic, partition, to: visibleTo, timeMs: visibleAtMs }]
      return [{ topic, partition, to: committedBelow, timeMs: Math.min(visibleAtMs, coveredUntilMs) }]
    })
  }

  /** Publishes until `signal` aborts or another generation must be written. */
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

  #dueInMs(): number {
    const { elapsedMs, isBehind } = this.#options
    const nowMs = elapsedMs()
    const restMs = this.#restUntilMs - nowMs
    const untilIntervalMs = (intervalMs: number): number => Math.max(restMs, this.#roundBeganAtMs + intervalMs - nowMs)
    if (this.#written.size === 0) return untilIntervalMs(idleIntervalMs)
    if (!isBehind()) return restMs
    return Math.min(behindCheckMs, untilIntervalMs(behindIntervalMs))
  }

  async #pause(forMs: number, signal: AbortSignal): Promise<void> {
    const pause = new AbortController()
    this.#wake = () => pause.abort()
    await sleep(forMs, undefined, { signal: AbortSignal.any([signal, pause.signal]) }).catch(() => undefined)
  }

  publish(): Promise<RoundResult> {
    const round = this.#round.then(() => this.#publishOnce())
    this.#round = round.catch(() => undefined)
    return round
  }

  /** Commits the first offsets (`low`) of replaced logs, and joins the group again. Otherwise new records below the former commits would never be read. */
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
    // `readBefore`: every record below was read. Noted before the ends are queried: a lower end shows that the log has lost records.
    const owned = consumer.assigned().map((partition) => ({
      partition,
      readBefore: partition.log.prefixUpTo(partition.offsets.progress().position).below,
    }))
    // 1. Clocks, then end offsets: every record at or beyond an end was appended after `beforeQueryMs`.
    const beforeQueryMs = await this.#readClocks()
    const ranges = await offsetRanges()
    // 2. Positions, before the refresh: a write acknowledged during the refresh may not be searchable after it.
    const progress = owned.map(({ partition, readBefore }) =>
      progressOf(partition, ranges.get(partitionName(partition))?.high, beforeQueryMs, readBefore),
    )
    // 3. Every record below these positions becomes searchable.
    await this.#makeSearchable(ranges)
    // 4. Clients see the progress.
    const published = await this.#publishVisible(progress, ranges)
    // 5. The next owner starts at the positions.
    await this.#commit(progress)
    return await this.#options.afterRound(published)
  }

  /** The lower of both clocks' times (epoch ms): a clock that is ahead would make the watermark too high. */
  async #readClocks(): Promise<number> {
    const { clock, redisTimeMs } = this.#options
    const beforeMs = clock()
    const redisMs = await redisTimeMs()
    const ownMsAtReply = clock()
    // Redis has read its clock about in the middle between the two readings here.
    this.clockOffsetMs = (beforeMs + ownMsAtReply) / 2 - redisMs
    return Math.min(beforeMs, redisMs)
  }

  /**
   * Refreshes if anything was written. If a shard has no primary, the refresh fails, but has made changes in other shards searchable. So the written lists get
   * new versions at once, or the API would serve cached answers until the shard has a primary. The next successful round gives them new versions again.
   */
  async #makeSearchable(ranges: OffsetRanges): Promise<void> {
    const { refresh, elapsedMs, publishVisible } = this.#options
    const written = this.#written
    if (written.size === 0) return
    const beganAtMs = elapsedMs()
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
   * A position is withheld while the log may have been replaced (its end was below a record read before, or a check doubts it), while the index is in a state
   * that the log never had, and while a rebuild switches readers to its generation (`locked`). Its next publication then changes every list version.
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
    // A new owner may have committed a higher position, which must not be overwritten.
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

/** Beyond the bound, all lists get new versions. */
function listsOrAll(lists: readonly TeamList[]): Pick<VisibleRound, 'lists' | 'changesEveryList'> {
  const isBeyondBound = lists.length > maxListsPerRound
  return { lists: isBeyondBound ? [] : lists, changesEveryList: isBeyondBound }
}
