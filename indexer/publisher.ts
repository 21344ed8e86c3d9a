import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Offset } from '../src/domain/identifiers.ts'
import { type Assigned, nameOf } from './consumer.ts'
import { markOf, type PartitionLedger } from './ledger.ts'

/** Where a partition begins and ends, and what its group has committed (undefined when nothing). */
export type PartitionEnds = { readonly low: bigint; readonly high: bigint; readonly committed: bigint | undefined }

export type PublisherOptions = {
  assigned(): readonly Assigned[]
  /** Ends of every partition of the source topics, by `nameOf`; what is committed only when asked for. */
  ends(withCommitted: boolean): Promise<ReadonlyMap<string, PartitionEnds>>
  /** Makes every acknowledged write searchable. */
  refresh(): Promise<void>
  commit(positions: readonly { topic: string; partition: number; position: Offset }[]): Promise<void>
  /** Publishes how far partitions are complete: name → epoch ms. */
  publish(marks: ReadonlyMap<string, number>): Promise<void>
  /** Whether much is still to be written: then refreshes come less often. */
  isBehind(): boolean
  readonly clock: () => number
  readonly log: Logger
}

const tickMs = 250
const behindIntervalMs = 2_000
const idleIntervalMs = 1_000
/** How far the broker's clock, which stamps append times, may be from ours. */
const allowedSkewMs = 1_000

/**
 * Makes progress visible, always in this order: refresh, commit, tidemark. So what is committed is searchable, and the
 * tidemark promises nothing that is not.
 */
export class Publisher {
  readonly #options: PublisherOptions
  readonly #committed = new WeakMap<PartitionLedger, Offset>()
  #isDirty = false
  /** Two rounds at once would let the second commit what the first has not refreshed yet. */
  #round: Promise<unknown> = Promise.resolve()
  #publishedAtMs = 0
  #trouble: string | undefined

  constructor(options: PublisherOptions) {
    this.#options = options
  }

  /** Notes that a write was acknowledged, or found stale: then someone else wrote it, perhaps without a refresh. */
  noteWrite(): void {
    this.#isDirty = true
  }

  /** What keeps progress from becoming visible; undefined when nothing does. */
  trouble(): string | undefined {
    return this.#trouble
  }

  /** Publishes until `signal` aborts; a failed step is tried again at the next turn. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(tickMs, undefined, { signal }).catch(() => undefined)
      if (signal.aborted || !this.#isDue()) continue
      try {
        await this.publish()
        this.#trouble = undefined
      } catch (error) {
        this.#trouble = (error as Error).message
        this.#options.log.warn({ err: error }, 'progress could not be published; trying again')
      }
    }
  }

  #isDue(): boolean {
    const sinceMs = this.#options.clock() - this.#publishedAtMs
    if (!this.#isDirty) return sinceMs >= idleIntervalMs
    return !this.#options.isBehind() || sinceMs >= behindIntervalMs
  }

  /** One round, after the one under way. Throws what a step throws; the steps after it are left for the next round. */
  publish(): Promise<void> {
    const round = this.#round.then(() => this.#publishOnce())
    this.#round = round.catch(() => undefined)
    return round
  }

  async #publishOnce(): Promise<void> {
    const { assigned, ends, refresh, commit, publish, clock } = this.#options
    const askedAtMs = clock()
    this.#publishedAtMs = askedAtMs
    const owned = assigned()
    const known = await ends(owned.some(({ ledger }) => ledger.progress().position === undefined))
    for (const { topic, partition, ledger } of owned) {
      const end = known.get(nameOf(topic, partition))
      if (end === undefined || ledger.progress().position !== undefined) continue
      ledger.startAt(startOf(end))
      this.#committed.set(ledger, startOf(end))
    }
    const isDirty = this.#isDirty
    this.#isDirty = false
    const rounds = owned.map((each) => ({ ...each, progress: each.ledger.progress() }))
    if (isDirty) {
      await refresh().catch((error: unknown) => {
        this.#isDirty = true
        throw error
      })
    }
    // A generation that began meanwhile may have given the partition to another indexer, whose commits must not be undone.
    const current = new Set(assigned().map(({ ledger }) => ledger))
    const positions = rounds.flatMap(({ topic, partition, ledger, progress: { position } }) => {
      const isNew = position !== undefined && position > (this.#committed.get(ledger) ?? 0n) && current.has(ledger)
      return isNew ? [{ topic, partition, ledger, position }] : []
    })
    if (positions.length > 0) await commit(positions)
    for (const { ledger, position } of positions) this.#committed.set(ledger, position)
    const marks = rounds.flatMap(({ topic, partition, progress }) => {
      const high = known.get(nameOf(topic, partition))?.high
      const mark = markOf(progress, high === undefined ? undefined : { offset: high, askedAtMs }, allowedSkewMs)
      return mark === undefined ? [] : [[nameOf(topic, partition), mark] as const]
    })
    await publish(new Map(marks))
  }
}

/** Where reading starts: at what is committed, or at the beginning when that is gone, never was, or nothing is. */
const startOf = ({ low, high, committed = -1n }: PartitionEnds): Offset =>
  (committed > low && committed <= high ? committed : low) as Offset
