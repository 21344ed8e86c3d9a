import type { TeamList } from '../src/core/model/ids.ts'

/** The offsets of the first and the last record of a list that are written and not published. */
type Unpublished = { readonly first: bigint; readonly last: bigint }

/** The published visible position of a partition, and whether and with which lists the next one may be published. */
export class VisibleProgress {
  /** The visible position that this owner has published: every record below it is searchable. Undefined before its first publication. */
  visibleTo: bigint | undefined
  /** Every record that was appended before this time (epoch ms) is below `visibleTo`. */
  visibleAtMs = 0
  readonly #start: bigint
  /** The end offset of the partition, from the first query after it was assigned; undefined before that query. */
  #endAtStart: bigint | undefined
  #gapBelow = 0n
  readonly #written = new Map<TeamList, Unpublished>()
  /** The last round withheld this partition, and did not keep which of its lists have changed. */
  #hasUnpublishedLists = false

  /** `start`: the offset at which reading starts. */
  constructor(start: bigint) {
    this.#start = start
  }

  /** The position that was published last, by this owner or the one before (its commit). */
  get from(): bigint {
    return this.visibleTo ?? this.#start
  }

  /** Whether the next publication must change the version of every list. */
  get hasUnpublishedLists(): boolean {
    return this.#hasUnpublishedLists
  }

  /** Notes an end offset of the partition. Only the first is kept. */
  noteEnd(end: bigint): void {
    this.#endAtStart ??= end
  }

  /**
   * Notes that offsets are missing in a fetched batch: compaction removed their records, because later records below `end` have the same keys. Until
   * these are read, too, the index is in a state that the log never had. Example: `a`, `b`, `a` are appended at offsets 0, 1, 2, and compaction
   * removes offset 0. An index that has read offset 1 has `b` without `a`, although `a` was there first.
   */
  noteGap(end: bigint): void {
    if (end > this.#gapBelow) this.#gapBelow = end
  }

  /** Notes that the record at `offset`, of this list, was stored, found stale or rejected. */
  noteWrite(list: TeamList, offset: bigint): void {
    const { first = offset, last = offset } = this.#written.get(list) ?? {}
    this.#written.set(list, { first: offset < first ? offset : first, last: offset > last ? offset : last })
  }

  /**
   * The lists that have changed below `position` since the last publication. They get new versions with that position, even if they got one before. Example:
   * the record at offset 7 is still retried, and a change of list L at offset 8 is searchable.
   * 1. A round publishes version v2 of L, and position 7. A follower reads both, and finds no change below 7.
   * 2. The record at 7 is stored. The next round publishes position 9.
   * 3. If L still had v2, the API would answer the follower "nothing new", and it would never get offset 8.
   */
  changedBelow(position: bigint): readonly TeamList[] {
    return [...this.#written].flatMap(([list, { first }]) => (first < position ? [list] : []))
  }

  /** Whether an index of all records below `position` is in a state that the log had: all gaps are passed, and the end at the start is reached. */
  isState(position: bigint): boolean {
    return this.#endAtStart !== undefined && position >= this.#endAtStart && position >= this.#gapBelow
  }

  /** Ends a round. `published`: the position and time (epoch ms) that it published for this partition; undefined if it withheld the partition. */
  endRound(published: { readonly to: bigint; readonly timeMs: number } | undefined): void {
    this.#hasUnpublishedLists = published === undefined
    if (published === undefined) return
    const { to, timeMs } = published
    this.visibleTo = to
    this.visibleAtMs = timeMs
    for (const [list, { first, last }] of this.#written)
      if (last < to) this.#written.delete(list)
      else if (first < to) this.#written.set(list, { first: to, last })
  }
}
