import { partitionName } from '../src/core/kafka/sourceRecord.ts'
import type { TeamList } from '../src/core/model/ids.ts'
import { type PendingMark, pendingMarkLifeMs } from '../src/core/stores/pendingMarks.ts'
import type { AssignedPartition } from './assignedPartition.ts'

/** Where marks are kept, for readers in other processes (`pendingMarks.ts`). */
export type MarkStore = Readonly<
  Record<'markPending' | 'unmarkPending', (marks: readonly PendingMark[]) => Promise<void>>
> & {
  /** Of Redis; undefined while it is not known. Another run may have lost marks. */
  runId(): string | undefined
}

/** The writes of one partition to one list since its mark was last removed. */
type Pending = PendingMark & { readonly name: string; submitted: number; acknowledged: number; isMarked: boolean }

/** Writes of which none was in flight, and how many they were then. */
export type AcknowledgedWrites = ReadonlyMap<Pending, number>

/**
 * Marks every list before a write to it can become visible, and removes the mark once the list has a new change token. A refresh of
 * any indexer shows the acknowledged writes of all of them, up to ten seconds before their lists have new tokens: only the mark tells
 * readers of that time.
 *
 * A write waits until Redis has its mark: else a reader that reaches Redis again could take an older answer for the current one.
 */
export class PendingWrites {
  readonly #marks: MarkStore
  readonly #elapsedMs: () => number
  /** By owner, partition and list. */
  readonly #pending = new Map<string, Pending>()
  /** Every request to mark that is under way. */
  readonly #marking = new Set<Promise<void>>()
  #renewedAtMs: number
  #runId: string | undefined

  /** `elapsedMs`: time that never steps (ms). */
  constructor(marks: MarkStore, elapsedMs: () => number) {
    this.#marks = marks
    this.#elapsedMs = elapsedMs
    this.#renewedAtMs = elapsedMs()
  }

  /** Notes a write that is to be sent after the next `mark`. The returned function notes that it was acknowledged. */
  submit(assigned: AssignedPartition, list: TeamList): () => void {
    const [partition, { owner }] = [partitionName(assigned), assigned]
    const name = `${owner} ${partition} ${list}`
    const none = { submitted: 0, acknowledged: 0, isMarked: false }
    const pending = this.#pending.get(name) ?? { name, list, partition, owner, ...none }
    this.#pending.set(name, pending)
    pending.submitted++
    return () => {
      pending.acknowledged++
    }
  }

  /**
   * Resolves once every submitted write is marked. Sets marks that failed again, renews those that Redis would soon forget, and sets all again
   * in another run of Redis. Rejects when Redis does not take a mark; then the next call asks for it again.
   */
  async mark(): Promise<void> {
    const runId = this.#marks.runId()
    if (runId !== this.#runId || this.#elapsedMs() - this.#renewedAtMs > pendingMarkLifeMs / 2) this.markAllAgain()
    this.#runId = runId
    const due = [...this.#pending.values()].filter(({ isMarked }) => !isMarked)
    for (const each of due) each.isMarked = true
    if (due.length > 0) {
      const marking = this.#markAll(due).finally(() => this.#marking.delete(marking))
      this.#marking.add(marking)
    }
    // A list may be in a request that began earlier.
    await Promise.all(this.#marking)
  }

  /** Has the next `mark` set every mark again. */
  markAllAgain(): void {
    this.#renewedAtMs = this.#elapsedMs()
    for (const each of this.#pending.values()) each.isMarked = false
  }

  async #markAll(due: readonly Pending[]): Promise<void> {
    try {
      await this.#marks.markPending(due)
    } catch (error) {
      for (const each of due) each.isMarked = false
      throw error
    }
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
  async unmark(writes: AcknowledgedWrites): Promise<void> {
    const done = [...writes].flatMap(([each, submitted]) => (each.submitted === submitted ? [each] : []))
    if (done.length === 0) return
    // Redis gets the mark of a write that is submitted from now on after this command.
    for (const { name } of done) this.#pending.delete(name)
    try {
      await this.#marks.unmarkPending(done)
    } catch (error) {
      // Whether their marks are still there is not known.
      for (const each of done.filter(({ name }) => !this.#pending.has(name))) {
        each.isMarked = false
        this.#pending.set(each.name, each)
      }
      throw error
    }
  }
}
