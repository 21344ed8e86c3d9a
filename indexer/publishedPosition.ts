import type { TeamList } from '../src/core/model/ids.ts'

/** The offsets of those records of a list that were written, but are not below the published position yet. */
type UnpublishedOffsets = { readonly first: bigint; readonly last: bigint }

/** What a partition has published for clients, and what the next round of `ProgressPublisher` must publish. */
export class PublishedPosition {
  /** The last position that this assignment has published. */
  visibleTo: bigint | undefined
  /** Every record appended before this time (epoch ms) is below `visibleTo`. */
  visibleAtMs = 0
  readonly #start: bigint
  /** The end offset at the first query after the assignment. */
  #endAtStart: bigint | undefined
  /** The highest `end` of `noteGap`. */
  #gapBelow = 0n
  readonly #unpublished = new Map<TeamList, UnpublishedOffsets>()
  #wasWithheld = false

  constructor(start: bigint) {
    this.#start = start
  }

  get from(): bigint {
    return this.visibleTo ?? this.#start
  }

  /** Whether the last round withheld the position. Then the next publication must change every list version. */
  get wasWithheld(): boolean {
    return this.#wasWithheld
  }

  /** Only the first end offset counts. */
  noteEnd(end: bigint): void {
    this.#endAtStart ??= end
  }

  /**
   * Notes that compaction removed records of a fetched batch; later records of their keys are below `end`. Example: of `a`, `b`, `a` at offsets 0, 1, 2,
   * compaction removed offset 0. After offset 1 is read, the index has `b` without `a`: a state that the log never had.
   */
  noteGap(end: bigint): void {
    if (end > this.#gapBelow) this.#gapBelow = end
  }

  /** Also for stale and rejected records: the former owner of the partition may have stored their states without publishing. */
  noteWrite(list: TeamList, offset: bigint): void {
    const { first, last } = this.#unpublished.get(list) ?? { first: offset, last: offset }
    this.#unpublished.set(list, { first: offset < first ? offset : first, last: offset > last ? offset : last })
  }

  /**
   * The lists that have changed below `position` since the last publication. They get new versions with `position`, even if they got one when the change became
   * searchable. Example: the record at offset 7 is still retried; a change of list L at offset 8 is searchable.
   * 1. A round publishes version v2 of L, and position 7. A follower reads both.
   * 2. The record at 7 is stored. The next round publishes position 9.
   * 3. If L still had v2, the API would answer "nothing new", and the follower would never get offset 8.
   */
  changedBelow(position: bigint): readonly TeamList[] {
    return [...this.#unpublished].flatMap(([list, { first }]) => (first < position ? [list] : []))
  }

  /**
   * Whether the index with all records below `position` is in a state that the log once had. `position` must be beyond the end that the log had at the assignment,
   * because the former owner may have stored later records, and beyond the ends of all gaps (`noteGap`).
   */
  isStateOfLog(position: bigint): boolean {
    return this.#endAtStart !== undefined && position >= this.#endAtStart && position >= this.#gapBelow
  }

  /** Ends a round, which has published position and time (epoch ms), or withheld them. */
  endRound(outcome: { readonly to: bigint; readonly timeMs: number } | 'withheld'): void {
    this.#wasWithheld = outcome === 'withheld'
    if (outcome === 'withheld') return
    const { to, timeMs } = outcome
    this.visibleTo = to
    this.visibleAtMs = timeMs
    for (const [list, { first, last }] of this.#unpublished) {
      if (last < to) this.#unpublished.delete(list)
      else if (first < to) this.#unpublished.set(list, { first: to, last })
    }
  }
}
