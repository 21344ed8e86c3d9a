import type { TeamList } from '../src/core/model/ids.ts'

/** The first and the last offset of a list's written records that are not below the published position. */
type UnpublishedOffsets = { readonly first: bigint; readonly last: bigint }

/** The published position of a partition; whether the next position may be published; which lists get new versions with that position. */
export class PublishedPosition {
  /** The position that this assignment has published last: every record below it is searchable. Undefined before the first. */
  visibleTo: bigint | undefined
  /** Every record that was appended before this time (epoch ms) is below `visibleTo`. */
  visibleAtMs = 0
  readonly #start: bigint
  /** The end offset of the partition at the first query after its assignment. */
  #endAtStart: bigint | undefined
  #gapBelow = 0n
  readonly #written = new Map<TeamList, UnpublishedOffsets>()
  #hasUnpublishedLists = false

  constructor(start: bigint) {
    this.#start = start
  }

  /** The position that this assignment has published last; before its first publication, the start offset. */
  get from(): bigint {
    return this.visibleTo ?? this.#start
  }

  /** Whether the next publication of this partition must change the version of every list. */
  get hasUnpublishedLists(): boolean {
    return this.#hasUnpublishedLists
  }

  noteEnd(end: bigint): void {
    this.#endAtStart ??= end
  }

  /**
   * Notes that compaction removed records of a fetched batch: later records with the same keys are below `end`. Example: of `a`, `b`, `a` at offsets 0, 1, 2,
   * compaction removed offset 0. After offset 1 is read, the index has `b` without `a`: a state that the log never had.
   */
  noteGap(end: bigint): void {
    if (end > this.#gapBelow) this.#gapBelow = end
  }

  /** Notes that a record of this list was stored, found stale or rejected. */
  noteWrite(list: TeamList, offset: bigint): void {
    const { first = offset, last = offset } = this.#written.get(list) ?? {}
    this.#written.set(list, { first: offset < first ? offset : first, last: offset > last ? offset : last })
  }

  /**
   * The lists that have changed below `position` since the last publication. They get new versions with that position, even if they got new versions when the
   * change became searchable. Example: the record at offset 7 is still retried; a change of list L at offset 8 is searchable.
   * 1. A round publishes version v2 of L, and position 7. A follower reads both.
   * 2. The record at 7 is stored. The next round publishes position 9.
   * 3. If L still had v2, the API would answer "nothing new", and the follower would never get offset 8.
   */
  changedBelow(position: bigint): readonly TeamList[] {
    return [...this.#written].flatMap(([list, { first }]) => (first < position ? [list] : []))
  }

  /**
   * Whether the index of all records below `position` is in a state that the log had at some time: `position` has reached the end at the assignment, and the
   * ends of all gaps.
   */
  isStateOfLog(position: bigint): boolean {
    return this.#endAtStart !== undefined && position >= this.#endAtStart && position >= this.#gapBelow
  }

  /** Ends a round, which has published a position and time (epoch ms), or withheld the partition. */
  endRound(outcome: { readonly to: bigint; readonly timeMs: number } | 'withheld'): void {
    this.#hasUnpublishedLists = outcome === 'withheld'
    if (outcome === 'withheld') return
    const { to, timeMs } = outcome
    this.visibleTo = to
    this.visibleAtMs = timeMs
    for (const [list, { first, last }] of this.#written)
      if (last < to) this.#written.delete(list)
      else if (first < to) this.#written.set(list, { first: to, last })
  }
}
