/** What an indexer has published of one partition that it owns, and whether it may publish more. */
export class VisibleProgress {
  /** Every offset below is published, by this owner or, at its beginning, committed by the one before. */
  publishedTo: bigint
  /** Undefined until the end of the partition is known. */
  #withheldBelow: bigint | undefined
  #gapBelow = 0n
  /** A round has passed without publishing this partition: the lists that it changed are not remembered. */
  #hasUnpublishedLists = false

  /** `start`: where reading begins. */
  constructor(start: bigint) {
    this.publishedTo = start
  }

  /** Notes an end of the partition; the first one counts, which was asked for after the partition was assigned. */
  noteEnd(end: bigint): void {
    this.#withheldBelow ??= end
  }

  /**
   * Notes that offsets are missing in what was fetched: compaction has removed them, since a later record below `end` has replaced each. Until
   * that is read, too, the index holds a state of no moment. Example: `a@0` and `a@1` were appended and compaction has removed `a@0`; an index
   * that has read up to offset 1 lacks `a`, which every reader of the log at offset 1 has seen.
   */
  noteGap(end: bigint): void {
    if (end > this.#gapBelow) this.#gapBelow = end
  }

  /** Whether an index that has read everything below `position` holds the state of the log at that position. */
  isState(position: bigint): boolean {
    return this.#withheldBelow !== undefined && position >= this.#withheldBelow && position >= this.#gapBelow
  }

  /** Notes the end of a round. `to`: the position that was published; undefined if it was withheld. */
  endRound(to: bigint | undefined): void {
    this.#hasUnpublishedLists = to === undefined
    if (to !== undefined && to > this.publishedTo) this.publishedTo = to
  }

  /** Whether lists have changed below the next position to publish that the next round does not name. */
  get hasUnpublishedLists(): boolean {
    return this.#hasUnpublishedLists
  }
}
