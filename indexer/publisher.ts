import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Offset } from '../src/core/model/ids.ts'
import type { TeamList } from '../src/core/model/teamList.ts'
import { summaryOf } from '../src/core/process/log.ts'
import type { PartitionCommit } from '../src/core/stores/consumerGroup.ts'
import type { OffsetRange } from '../src/core/stores/kafkaSource.ts'
import { partitionName, type TopicPartition } from '../src/core/stores/sourceRecord.ts'
import type { StartOffset } from './committedOffsets.ts'
import type { AssignedPartition } from './consumer.ts'
import { type OffsetTracker, type Progress, partitionWatermark } from './offsetTracker.ts'

/** How far a partition is visible, and how far it is behind its end. */
export type Lag = TopicPartition & { readonly position: Offset; readonly records: bigint; readonly seconds: number }

/** `retired`: another generation is written and published from now on, so that this publisher must stop. */
export type PublishResult = 'continue' | 'retired'

/** How readers learn about progress. A generation that is being rebuilt has no readers. */
export type ReaderUpdates = {
  /** Makes answers outdated that readers keep of these lists. */
  replaceChangeTokens(lists: readonly TeamList[]): Promise<void>
  /** Publishes the watermarks (epoch ms) of our partitions; `known` holds every partition of the topics. By `partitionName`. */
  publishWatermarks(
    watermarks: ReadonlyMap<string, number>,
    known: ReadonlyMap<string, TopicPartition>,
  ): Promise<PublishResult>
}

export type PublisherOptions = {
  assigned(): readonly AssignedPartition[]
  /** The offset range of every partition of the source topics, by `partitionName`. */
  offsetRanges(): Promise<ReadonlyMap<string, OffsetRange & TopicPartition>>
  /** Makes every acknowledged write searchable. */
  refresh(): Promise<void>
  commit(commits: readonly PartitionCommit[]): Promise<void>
  /** The metadata of a partition's commit. */
  commitMetadata(start: StartOffset): string
  readonly readers: ReaderUpdates | undefined
  /** Whether many writes are in flight; then refreshes are less frequent. */
  isBehind(): boolean
  readonly clock: () => number
  readonly log: Logger
}

const tickMs = 250
const behindIntervalMs = 10_000
const idleIntervalMs = 1_000
/** How far the broker's clock, which stamps append times, may be from ours. */
const allowedSkewMs = 1_000

/** A partition as one round of publishing sees it. */
type PartitionProgress = AssignedPartition & { readonly progress: Progress }

/**
 * Makes progress visible, always in this order: refresh, change tokens, commit, watermark. Therefore committed records are
 * searchable, no reader who has seen a watermark is answered "not changed" for older content, and the watermark covers only
 * what is searchable.
 */
export class Publisher {
  readonly #options: PublisherOptions
  readonly #committed = new WeakMap<OffsetTracker, bigint>()
  /** Lists whose documents were written since the last refresh. */
  #written = new Set<TeamList>()
  /** Lists that were refreshed and whose change tokens are still to be replaced. */
  #refreshed = new Set<TeamList>()
  /** The round in progress. Concurrent rounds could commit what the other one has not refreshed yet. */
  #round: Promise<unknown> = Promise.resolve()
  #publishedAtMs = 0
  #lags: readonly Lag[] = []
  #blockedReason: string | undefined

  constructor(options: PublisherOptions) {
    this.#options = options
  }

  /** Notes an acknowledged or stale write. A stale one was written by somebody who may not have refreshed it or replaced its token. */
  noteWrite(list: TeamList): void {
    this.#written.add(list)
  }

  /** Why progress does not become visible; undefined while it does. */
  blockedReason(): string | undefined {
    return this.#blockedReason
  }

  /** The lag of every owned partition after the last round. */
  lags(): readonly Lag[] {
    return this.#lags
  }

  /** Publishes until `signal` aborts or the generation is retired; a failed step is repeated in the next round. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(tickMs, undefined, { signal }).catch(() => undefined)
      if (signal.aborted || !this.#isDue()) continue
      try {
        const result = await this.publish()
        this.#blockedReason = undefined
        if (result === 'retired') return
      } catch (error) {
        this.#blockedReason = summaryOf(error)
        this.#options.log.warn({ err: error }, 'progress could not be published; trying again')
      }
    }
  }

  #isDue(): boolean {
    const sinceMs = this.#options.clock() - this.#publishedAtMs
    if (this.#written.size === 0) return sinceMs >= idleIntervalMs
    return !this.#options.isBehind() || sinceMs >= behindIntervalMs
  }

  /** Runs one round after the one in progress. Throws the error of a failed step; the next round makes up for the rest. */
  publish(): Promise<PublishResult> {
    const round = this.#round.then(() => this.#publishOnce())
    this.#round = round.catch(() => undefined)
    return round
  }

  async #publishOnce(): Promise<PublishResult> {
    const { assigned, offsetRanges, readers, clock } = this.#options
    const askedAtMs = clock()
    this.#publishedAtMs = askedAtMs
    const owned = assigned()
    const ranges = await offsetRanges()
    const written = this.#written
    this.#written = new Set()
    const partitions = owned.map((each) => ({ ...each, progress: each.offsets.progress() }))
    await this.#makeSearchable(written)
    await this.#replaceChangeTokens()
    await this.#commit(partitions)
    const watermarks = watermarksOf(partitions, ranges, askedAtMs)
    this.#lags = partitions.map((each) => lagOf(each, ranges, watermarks, askedAtMs))
    return (await readers?.publishWatermarks(watermarks, ranges)) ?? 'continue'
  }

  async #makeSearchable(written: ReadonlySet<TeamList>): Promise<void> {
    if (written.size === 0) return
    await this.#options.refresh().catch((error: unknown) => {
      for (const list of written) this.#written.add(list)
      throw error
    })
    for (const list of written) this.#refreshed.add(list)
  }

  async #replaceChangeTokens(): Promise<void> {
    if (this.#refreshed.size === 0) return
    await this.#options.readers?.replaceChangeTokens([...this.#refreshed])
    this.#refreshed = new Set()
  }

  async #commit(partitions: readonly PartitionProgress[]): Promise<void> {
    const { assigned, commit, commitMetadata } = this.#options
    // A rebalance during this round may have given the partition to another indexer, whose commits must not be overwritten.
    const current = new Set(assigned().map(({ offsets }) => offsets))
    const due = partitions.filter(({ offsets, progress, start }) => {
      const committed = this.#committed.get(offsets) ?? (start.isCommitted ? start.position : -1n)
      return progress.position > committed && current.has(offsets)
    })
    if (due.length === 0) return
    await commit(
      due.map(({ topic, partition, progress: { position }, start }) => ({
        topic,
        partition,
        position,
        metadata: commitMetadata(start),
      })),
    )
    for (const { offsets, progress } of due) this.#committed.set(offsets, progress.position)
  }
}

function watermarksOf(
  partitions: readonly PartitionProgress[],
  ranges: ReadonlyMap<string, OffsetRange>,
  askedAtMs: number,
): Map<string, number> {
  const watermarks = new Map<string, number>()
  for (const each of partitions) {
    const offset = ranges.get(partitionName(each))?.high
    const end = offset === undefined ? undefined : { offset, askedAtMs }
    const watermark = partitionWatermark(each.progress, end, allowedSkewMs)
    if (watermark !== undefined) watermarks.set(partitionName(each), watermark)
  }
  return watermarks
}

function lagOf(
  { topic, partition, progress: { position } }: PartitionProgress,
  ranges: ReadonlyMap<string, OffsetRange>,
  watermarks: ReadonlyMap<string, number>,
  askedAtMs: number,
): Lag {
  const name = partitionName({ topic, partition })
  const [high, watermark] = [ranges.get(name)?.high, watermarks.get(name)]
  const records = high === undefined || high < position ? 0n : high - position
  const seconds = records === 0n || watermark === undefined ? 0 : Math.max(0, askedAtMs - watermark) / 1_000
  return { topic, partition, position, records, seconds }
}
