import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Offset } from '../src/core/model/ids.ts'
import type { TeamList } from '../src/core/model/teamList.ts'
import { summaryOf } from '../src/core/process/log.ts'
import { type Ends, nameOf, type TopicPartition } from './committedOffsets.ts'
import type { Assigned, Position } from './consumer.ts'
import { type OffsetTracker, partitionWatermark } from './offsetTracker.ts'

/** How far a partition is visible, and how far it is behind its end. */
export type Lag = TopicPartition & { readonly position: Offset; readonly records: bigint; readonly seconds: number }

/** Whether a round was the last one: others write and promise from now on. */
export type RoundEnd = 'going-on' | 'over'

export type PublisherOptions = {
  assigned(): readonly Assigned[]
  /** Ends of every partition of the source topics, by `nameOf`. */
  ends(): Promise<ReadonlyMap<string, Ends>>
  /** Makes every acknowledged write searchable. */
  refresh(): Promise<void>
  /** Tells readers of these lists that what they keep is out of date. */
  replaceChangeTokens(lists: readonly TeamList[]): Promise<void>
  commit(positions: readonly Position[]): Promise<void>
  /** What a commit of this partition says beside its position. */
  commitMetadata(assigned: Assigned): string
  /** Publishes how far partitions are complete: name → epoch ms. */
  publish(marks: ReadonlyMap<string, number>): Promise<RoundEnd>
  /** Hears after every round how far each owned partition is behind. */
  onLag(lags: readonly Lag[]): void
  /** Whether much is still to be written: then refreshes come less often. */
  isBehind(): boolean
  readonly clock: () => number
  readonly log: Logger
}

const tickMs = 250
const behindIntervalMs = 10_000
const idleIntervalMs = 1_000
/** How far the broker's clock, which stamps append times, may be from ours. */
const allowedSkewMs = 1_000

/**
 * Makes progress visible, always in this order: refresh, change tokens, commit, watermark. So what is committed is searchable,
 * nobody who saw the watermark is answered "not changed" for less, and the watermark promises nothing that is not.
 */
export class Publisher {
  readonly #options: PublisherOptions
  readonly #committed = new WeakMap<OffsetTracker, bigint>()
  /** Lists whose documents were written since the last refresh. */
  #written = new Set<TeamList>()
  /** Lists that were refreshed, and whose tokens are still the old ones. */
  #refreshed = new Set<TeamList>()
  /** Two rounds at once would let the second commit what the first has not refreshed yet. */
  #round: Promise<unknown> = Promise.resolve()
  #publishedAtMs = 0
  #trouble: string | undefined

  constructor(options: PublisherOptions) {
    this.#options = options
  }

  /** Notes that a write was acknowledged, or found stale: then someone else wrote it, perhaps without a refresh or a token. */
  noteWrite(list: TeamList): void {
    this.#written.add(list)
  }

  /** What keeps progress from becoming visible; undefined when nothing does. */
  trouble(): string | undefined {
    return this.#trouble
  }

  /** Publishes until `signal` aborts or a round is the last one; a failed step is tried again at the next turn. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(tickMs, undefined, { signal }).catch(() => undefined)
      if (signal.aborted || !this.#isDue()) continue
      try {
        const end = await this.publish()
        this.#trouble = undefined
        if (end === 'over') return
      } catch (error) {
        this.#trouble = summaryOf(error)
        this.#options.log.warn({ err: error }, 'progress could not be published; trying again')
      }
    }
  }

  #isDue(): boolean {
    const sinceMs = this.#options.clock() - this.#publishedAtMs
    if (this.#written.size === 0) return sinceMs >= idleIntervalMs
    return !this.#options.isBehind() || sinceMs >= behindIntervalMs
  }

  /** One round, after the one under way. Throws what a step throws; the steps after it are left for the next round. */
  publish(): Promise<RoundEnd> {
    const round = this.#round.then(() => this.#publishOnce())
    this.#round = round.catch(() => undefined)
    return round
  }

  async #publishOnce(): Promise<RoundEnd> {
    const { assigned, ends, publish, onLag, clock } = this.#options
    const askedAtMs = clock()
    this.#publishedAtMs = askedAtMs
    const owned = assigned()
    const known = await ends()
    const written = this.#written
    this.#written = new Set()
    const rounds = owned.map((each) => ({ ...each, progress: each.ledger.progress() }))
    await this.#makeVisible(written)
    await this.#commit(rounds.map(({ progress, ...each }) => ({ ...each, position: progress.position })))
    const lags: Lag[] = []
    const marks = new Map<string, number>()
    for (const { topic, partition, progress } of rounds) {
      const high = known.get(nameOf({ topic, partition }))?.high
      const mark = partitionWatermark(
        progress,
        high === undefined ? undefined : { offset: high, askedAtMs },
        allowedSkewMs,
      )
      if (mark !== undefined) marks.set(nameOf({ topic, partition }), mark)
      const records = high === undefined || high < progress.position ? 0n : high - progress.position
      const seconds = records === 0n || mark === undefined ? 0 : Math.max(0, askedAtMs - mark) / 1_000
      lags.push({ topic, partition, position: progress.position, records, seconds })
    }
    onLag(lags)
    return await publish(marks)
  }

  async #makeVisible(written: ReadonlySet<TeamList>): Promise<void> {
    const { refresh, replaceChangeTokens } = this.#options
    if (written.size > 0) {
      await refresh().catch((error: unknown) => {
        for (const list of written) this.#written.add(list)
        throw error
      })
      for (const list of written) this.#refreshed.add(list)
    }
    if (this.#refreshed.size === 0) return
    await replaceChangeTokens([...this.#refreshed])
    this.#refreshed = new Set()
  }

  async #commit(rounds: readonly (Assigned & { readonly position: Position['position'] })[]): Promise<void> {
    const { assigned, commit, commitMetadata } = this.#options
    // A generation that began meanwhile may have given the partition to another indexer, whose commits must not be undone.
    const current = new Set(assigned().map(({ ledger }) => ledger))
    const due = rounds.filter(({ ledger, position, start }) => {
      const committed = this.#committed.get(ledger) ?? (start.isCommitted ? start.position : -1n)
      return position > committed && current.has(ledger)
    })
    if (due.length === 0) return
    await commit(due.map((each) => ({ ...each, metadata: commitMetadata(each) })))
    for (const { ledger, position } of due) this.#committed.set(ledger, position)
  }
}
