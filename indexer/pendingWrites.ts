import type { TeamList } from '../src/core/model/teamList.ts'
import { type PendingMark, pendingMarkLifeMs } from '../src/core/stores/pendingWrites.ts'
import { partitionName } from '../src/core/stores/sourceRecord.ts'
import type { AssignedPartition } from './consumer.ts'

/** Where marks are kept, for readers in other processes. */
export type PendingMarks = {
  /** Marks lists before writes to them can become visible. */
  markPending(marks: readonly PendingMark[]): Promise<void>
  /** Removes marks of lists that have new change tokens, where they are still of the same owner. */
  settlePending(marks: readonly PendingMark[]): Promise<void>
}

type PendingWritesOptions = {
  readonly marks: PendingMarks
  /** Time that never steps (ms). */
  readonly elapsedMs: () => number
}

/** The writes of one partition to one list since its mark was last removed. */
type Pending = PendingMark & { readonly name: string; submitted: number; acknowledged: number }

/** Writes of which none was in flight, and how many they were then. */
export type AcknowledgedWrites = ReadonlyMap<Pending, number>

/**
 * Marks every list before a write to it can become visible, and removes the mark once the list has a new change token. A refresh of
 * any indexer shows the acknowledged writes of all of them, up to ten seconds before their lists have new tokens: only the mark tells
 * readers of that time.
 *
 * Nothing is written while Redis does not take the marks: a reader that reaches it would take an older answer for the current one.
 */
export class PendingWrites {
  readonly #options: PendingWritesOptions
  /** By owner, partition and list. */
  readonly #pending = new Map<string, Pending>()
  #unmarked = new Set<Pending>()
  /** Every request to mark that is under way. */
  #marking: Promise<void> = Promise.resolve()
  #renewedAtMs: number

  constructor(options: PendingWritesOptions) {
    this.#options = options
    this.#renewedAtMs = options.elapsedMs()
  }

  /** Notes a write that is to be sent after the next `mark`. The returned function notes that it was acknowledged. */
  submit(assigned: AssignedPartition, list: TeamList): () => void {
    const pending = this.#pendingOf(assigned, list)
    pending.submitted++
    return () => {
      pending.acknowledged++
    }
  }

  #pendingOf(assigned: AssignedPartition, list: TeamList): Pending {
    const [partition, { owner }] = [partitionName(assigned), assigned]
    const name = `${owner} ${partition} ${list}`
    const known = this.#pending.get(name)
    if (known !== undefined) return known
    const pending = { name, list, partition, owner, submitted: 0, acknowledged: 0 }
    this.#addUnmarked(pending)
    return pending
  }

  #addUnmarked(pending: Pending): void {
    this.#pending.set(pending.name, pending)
    this.#unmarked.add(pending)
  }

  /** Resolves with whether every submitted write is marked. What Redis did not take is marked by the next call. */
  async mark(): Promise<boolean> {
    const { elapsedMs } = this.#options
    if (elapsedMs() - this.#renewedAtMs > pendingMarkLifeMs / 2) {
      this.#renewedAtMs = elapsedMs()
      this.#unmarked = new Set(this.#pending.values())
    }
    if (this.#unmarked.size > 0) {
      const [earlier, own] = [this.#marking, this.#markUnmarked()]
      this.#marking = earlier.then(() => own)
    }
    for (let marking: Promise<void> | undefined; marking !== this.#marking; await marking) marking = this.#marking
    return this.#unmarked.size === 0
  }

  async #markUnmarked(): Promise<void> {
    const due = [...this.#unmarked]
    this.#unmarked.clear()
    await this.#options.marks.markPending(due).catch(() => {
      for (const each of due) if (this.#pending.get(each.name) === each) this.#unmarked.add(each)
    })
  }

  /** The writes that the next refresh makes visible, without those of lists and partitions of which others are still in flight. */
  acknowledged(): AcknowledgedWrites {
    const all = [...this.#pending.values()].filter(({ submitted, acknowledged }) => submitted === acknowledged)
    return new Map(all.map((each) => [each, each.submitted]))
  }

  /**
   * Removes the marks of these writes, whose lists have new change tokens, unless further ones were submitted meanwhile. Rejects when
   * Redis does not answer; then the next round removes them.
   */
  async settle(writes: AcknowledgedWrites): Promise<void> {
    const settled = [...writes].flatMap(([each, submitted]) => (each.submitted === submitted ? [each] : []))
    if (settled.length === 0) return
    // Redis gets the mark of a write that is submitted from now on after this command.
    for (const each of settled) {
      this.#pending.delete(each.name)
      this.#unmarked.delete(each)
    }
    await this.#options.marks.settlePending(settled).catch((error: unknown) => {
      // Whether their marks are still there is not known.
      for (const each of settled) if (!this.#pending.has(each.name)) this.#addUnmarked(each)
      throw error
    })
  }
}
