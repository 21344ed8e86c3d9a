import type { TeamList } from '../src/core/model/ids.ts'

/** The first and the last record of a list that were written and are not published. */
type Unpublished = { readonly first: bigint; readonly last: bigint }

/** How far one partition was published as visible by the indexer that owns it, and whether it may be published further. */
export class VisibleProgress {
  /** Every record below is searchable, as this owner has published; undefined before its first publication. */
  visibleTo: bigint | undefined
  /** The time that was published with it: everything that was appended before (epoch ms) is below. */
  visibleAtMs = 0
  readonly #start: bigint
  /** The end of the partition when it was assigned; undefined until that is known. */
  #endAtStart: bigint | undefined
  #gapBelow = 0n
  readonly #written = new Map<TeamList, Unpublished>()
  /** A round has passed without publishing this partition: the lists that it changed are not remembered. */
  #hasUnpublishedLists = false

  /** `start`: where reading begins. */
  constructor(start: bigint) {
    this.#start = start
  }

  /** Where the next publication begins: where the last one has ended, of this owner or, by its commit, of the one before. */
  get from(): bigint {
    return this.visibleTo ?? this.#start
  }

  /** Whether lists have changed below the next position to publish that the next round does not name. */
  get hasUnpublishedLists(): boolean {
    return this.#hasUnpublishedLists
  }

  /** Notes an end of the partition; the first one counts, which was asked for after the partition was assigned. */
  noteEnd(end: bigint): void {
    this.#endAtStart ??= end
  }

  /**
   * Notes that offsets are missing in what was fetched: compaction has removed them, since a later record below `end` has replaced each. Until
   * that one is read, too, the index holds a state that the log never had. Example: `a@0` and `a@1` are appended, and compaction removes `a@0`.
   * An index that has read up to offset 1 lacks `a`, which every reader has seen since offset 0.
   */
  noteGap(end: bigint): void {
    if (end > this.#gapBelow) this.#gapBelow = end
  }

  /** Notes an acknowledged, stale or rejected write of a record. */
  noteWrite(list: TeamList, offset: bigint): void {
    const { first = offset, last = offset } = this.#written.get(list) ?? {}
    this.#written.set(list, { first: offset < first ? offset : first, last: offset > last ? offset : last })
  }

  /**
   * The lists that have changed below `position` since the last publication. A list gets another version as soon as a change of it is visible,
   * which may be before its position is published: a record in front of it may still be retried. It must get one more with that position.
   * Otherwise a follower that reads the new version with the old position is told "nothing new" when the position has reached the change.
   */
  changedBelow(position: bigint): readonly TeamList[] {
    return [...this.#written].flatMap(([list, { first }]) => (first < position ? [list] : []))
  }

  /** Whether an index that has read everything below `position` holds the state of the log at that position. */
  isState(position: bigint): boolean {
    return this.#endAtStart !== undefined && position >= this.#endAtStart && position >= this.#gapBelow
  }

  /** Notes the end of a round. `published`: the position that was published, and its time; undefined if it was withheld. */
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
