import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { GenerationTag } from '../src/core/elasticsearch/indices.ts'
import type { OffsetRanges } from '../src/core/kafka/source.ts'
import { partitionName, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import type { Offset, TeamList } from '../src/core/model/ids.ts'
import { summaryOf } from '../src/core/monitoring/log.ts'
import {
  maxListsPerRound,
  type PublishedPartition,
  type PublishedRound,
  type RoundPublished,
} from '../src/core/redis/visiblePositions.ts'
import type { AssignedPartition } from './assignedPartition.ts'
import type { SourceConsumer } from './consumer.ts'
import { hasNews, type PartitionProgress, progressOf } from './partitionProgress.ts'
import { unreadLog } from './readLog.ts'
import { commitMetadata } from './startOffsets.ts'

/** `retired`: another generation is written from now on. */
export type RoundResult = 'continue' | 'retired'

type PublisherOptions = {
  readonly consumer: Pick<SourceConsumer, 'assigned' | 'commit' | 'rejoin'>
  /** The offset range of every partition of the source topics. */
  offsetRanges(): Promise<OffsetRanges>
  /** Makes every acknowledged write searchable. */
  refresh(): Promise<void>
  /** Publishes in Redis, in one step, what is searchable, and other versions of the lists that have changed (`visiblePositions.ts`). */
  publishVisible(round: VisibleRound): Promise<RoundPublished>
  /** Acts on what came of a round. */
  afterRound(published: RoundPublished): Promise<RoundResult>
  readonly tag: GenerationTag
  /** The clock of Redis (epoch ms). */
  redisTimeMs(): Promise<number>
  /** Whether many writes are in flight; then refreshes are less frequent. */
  isBehind(): boolean
  readonly clock: () => number
  /** Time that never steps (ms). */
  readonly elapsedMs: () => number
  readonly log: Logger
}

/** What one round makes visible. `known`: every partition of the topics. */
export type VisibleRound = Pick<PublishedRound, 'lists' | 'changesEveryList'> & {
  readonly partitions: readonly (TopicPartition & Omit<PublishedPartition, 'type'>)[]
  readonly known: OffsetRanges
}

/** A partition of which every record below `to` is visible, with everything that was appended before `timeMs`. */
export type VisiblePartition = TopicPartition & Pick<PublishedPartition, 'to' | 'timeMs'>

/** After a refresh comes a rest as long as it took, within these bounds. */
const minRestMs = 25
const maxRestMs = 100
const restAfterFailureMs = 250
const behindCheckMs = 250
const behindIntervalMs = 10_000
const idleIntervalMs = 1_000

/**
 * Makes progress visible, always in this order: refresh; positions and other versions of the lists that changed, in one script; commit. Therefore
 * what is committed is searchable, and what a client reads of positions, versions and watermark is true of what it finds. After a crash between
 * two steps records are read again, which changes nothing but versions of lists.
 */
export class VisibilityPublisher {
  readonly #options: PublisherOptions
  /** Lists whose documents were written since the last refresh. */
  #written = new Set<TeamList>()
  /** Lists that were refreshed and are to get another version. */
  readonly #refreshed = new Set<TeamList>()
  /** The round in progress. Concurrent rounds could commit what the other one has not refreshed yet. */
  #round: Promise<unknown> = Promise.resolve()
  #publishedAtMs = Number.NEGATIVE_INFINITY
  /** The end of the rest after the last refresh, or after a failed round. */
  #restedAtMs = Number.NEGATIVE_INFINITY
  #wake = (): void => undefined
  /** How far our clock is ahead of that of Redis (ms); undefined before the first round. */
  clockOffsetMs: number | undefined
  /** Why progress does not become visible; undefined while it does. */
  blockedReason: string | undefined

  constructor(options: PublisherOptions) {
    this.#options = options
  }

  /** Notes an acknowledged or stale write. Whoever wrote a stale one may not have refreshed it or replaced its token. */
  noteWrite(list: TeamList): void {
    const isFirst = this.#written.size === 0
    this.#written.add(list)
    if (isFirst) this.#wake()
  }

  /** The owned partitions that were published, and below which offset every record of each is visible and committed. */
  visible(): readonly VisiblePartition[] {
    return this.#options.consumer.assigned().flatMap(({ topic, partition, visible, committed, start }) => {
      const { visibleTo, visibleAtMs } = visible
      if (visibleTo === undefined) return []
      const { position, coveredAtMs } = committed ?? start
      return position < visibleTo
        ? [{ topic, partition, to: position, timeMs: Math.min(visibleAtMs, coveredAtMs) }]
        : [{ topic, partition, to: visibleTo, timeMs: visibleAtMs }]
    })
  }

  /** Publishes until `signal` aborts or the generation is retired; a failed step is repeated in the next round. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const waitMs = this.#dueInMs()
      if (waitMs > 0) {
        await this.#pause(waitMs, signal)
        continue
      }
      try {
        const result = await this.publish()
        this.blockedReason = undefined
        if (result === 'retired') return
      } catch (error) {
        this.blockedReason = summaryOf(error)
        this.#restedAtMs = this.#options.elapsedMs() + restAfterFailureMs
        this.#options.log.warn({ err: error }, 'progress could not be published; trying again')
      }
    }
  }

  /** Milliseconds until the next round, or until this must be asked again; a round is due when that is not positive. */
  #dueInMs(): number {
    const { elapsedMs, isBehind } = this.#options
    const nowMs = elapsedMs()
    const sinceMs = nowMs - this.#publishedAtMs
    const restMs = this.#restedAtMs - nowMs
    if (this.#written.size === 0) return Math.max(restMs, idleIntervalMs - sinceMs)
    if (!isBehind()) return restMs
    return Math.min(behindCheckMs, Math.max(restMs, behindIntervalMs - sinceMs))
  }

  /** Ends early at the first write of a round. */
  async #pause(forMs: number, signal: AbortSignal): Promise<void> {
    const pause = new AbortController()
    this.#wake = () => pause.abort()
    await sleep(forMs, undefined, { signal: AbortSignal.any([signal, pause.signal]) }).catch(() => undefined)
  }

  /** Runs one round after the one in progress. Throws the error of a failed step. */
  publish(): Promise<RoundResult> {
    const round = this.#round.then(() => this.#publishOnce())
    this.#round = round.catch(() => undefined)
    return round
  }

  /**
   * Has partitions whose logs are others than were read be read from their beginnings: commits these, and joins the group again. What was committed
   * speaks of other logs: records below it, and dead letters among them, were never read.
   */
  readAgain(partitions: readonly { readonly of: AssignedPartition; readonly low: Offset }[]): Promise<void> {
    const { consumer, tag } = this.#options
    const again = this.#round.then(async () => {
      const assigned = consumer.assigned()
      const owned = partitions.filter(({ of }) => assigned.includes(of))
      if (owned.length === 0) return
      const commits = owned.map(({ of, low }) => {
        const { topic, partition, coverage, log } = of
        const metadata = commitMetadata(tag, 0n, coverage.coveredAtMs, log.state(low))
        return { topic, partition, position: low, metadata }
      })
      await consumer.commit(commits)
      consumer.rejoin()
    })
    this.#round = again.catch(() => undefined)
    return again
  }

  /** Each step takes what it works on by itself, and gives it back when it fails: the next round finds all that is left to do. */
  async #publishOnce(): Promise<RoundResult> {
    const { consumer, offsetRanges, elapsedMs } = this.#options
    this.#publishedAtMs = elapsedMs()
    const owned = consumer
      .assigned()
      .map((of) => ({ of, readBefore: of.log.upTo(of.offsets.progress().position).below }))
    // The clocks are read before the end offsets, so that a record beyond those was appended after that reading.
    const askedAtMs = await this.#readClocks()
    const ranges = await offsetRanges()
    const partitions = owned.map(({ of, readBefore }) =>
      progressOf(of, ranges.get(partitionName(of))?.high, askedAtMs, readBefore),
    )
    await this.#makeSearchable(ranges)
    const published = await this.#publishVisible(partitions, ranges)
    await this.#commit(partitions)
    return await this.#options.afterRound(published)
  }

  /** What the slower clock reads, ours or that of Redis (epoch ms). */
  async #readClocks(): Promise<number> {
    const { clock, redisTimeMs } = this.#options
    const beforeMs = clock()
    const redisMs = await redisTimeMs()
    this.clockOffsetMs = (beforeMs + clock()) / 2 - redisMs
    return Math.min(beforeMs, redisMs)
  }

  /**
   * Refreshes what was written until now. A refresh that fails may have made changes visible all the same: while one shard has no primary, those of all
   * others are. So the lists get other versions, or a client would be served what is kept of the old ones for as long as that shard is away. They
   * get others once more with their positions (`VisibleProgress.changedBelow`).
   */
  async #makeSearchable(known: OffsetRanges): Promise<void> {
    const { refresh, elapsedMs, publishVisible } = this.#options
    const written = this.#written
    if (written.size === 0) return
    const beganAtMs = elapsedMs()
    // A list that is written during the refresh waits for the next one.
    this.#written = new Set()
    await refresh().catch(async (error: unknown) => {
      for (const list of written) this.#written.add(list)
      await publishVisible({ ...namedOrAll([...written]), partitions: [], known })
      throw error
    })
    const endedAtMs = elapsedMs()
    this.#restedAtMs = endedAtMs + Math.min(Math.max(endedAtMs - beganAtMs, minRestMs), maxRestMs)
    for (const list of written) this.#refreshed.add(list)
  }

  /**
   * Publishes what the refresh has made searchable. A partition is withheld while its prefix is no state of the log: then, and
   * while a rebuild switches, only its lists get another version, which is not enough for followers. The next publication of that partition
   * gives all lists another one, as those that changed are not remembered.
   */
  async #publishVisible(progress: readonly PartitionProgress[], known: OffsetRanges): Promise<RoundPublished> {
    const visible = progress.filter(
      ({ of, position, isDoubted }) => !isDoubted && !of.log.isDoubted && of.visible.isState(position),
    )
    const changed = visible.flatMap(({ of, position }) => of.visible.changedBelow(position))
    const lists = [...new Set([...this.#refreshed, ...changed])]
    const { changesEveryList, ...named } = namedOrAll(lists)
    const published = await this.#options.publishVisible({
      ...named,
      changesEveryList: changesEveryList || visible.some(({ of }) => of.visible.hasUnpublishedLists),
      partitions: visible.map(({ of, position, coveredAtMs }) => ({
        ...{ topic: of.topic, partition: of.partition },
        ...{ from: of.visible.from, to: position, timeMs: coveredAtMs },
      })),
      known,
    })
    for (const list of lists) this.#refreshed.delete(list)
    for (const each of progress) {
      const isPublished = published.outcome !== 'locked' && visible.includes(each)
      each.of.visible.endRound(isPublished ? { to: each.position, timeMs: each.coveredAtMs } : undefined)
    }
    return published
  }

  async #commit(partitions: readonly PartitionProgress[]): Promise<void> {
    const { consumer, tag } = this.#options
    // A rebalance during this round may have given the partition to another indexer, whose commits must not be overwritten.
    const assigned = consumer.assigned()
    const due = partitions.filter((each) => hasNews(each) && assigned.includes(each.of))
    if (due.length === 0) return
    const logs = due.map(({ of, position }) => of.log.state(position))
    const commits = due.map(({ of: { topic, partition, start }, position, coveredAtMs }, at) => {
      const metadata = commitMetadata(tag, start.deadLetteredBelow, coveredAtMs, logs[at] ?? unreadLog)
      return { topic, partition, position, metadata }
    })
    await consumer.commit(commits)
    due.forEach(({ of, position, coveredAtMs }, at) => {
      of.committed = { position, coveredAtMs, isReplaced: logs[at]?.isReplaced ?? false }
    })
  }
}

/** The lists that get other versions; all of them rather than thousands by name. */
function namedOrAll(lists: readonly TeamList[]): Pick<VisibleRound, 'lists' | 'changesEveryList'> {
  const isBeyondBound = lists.length > maxListsPerRound
  return { lists: isBeyondBound ? [] : lists, changesEveryList: isBeyondBound }
}
