/** No record below offset `below` was appended later than `latestMs` (epoch ms; `Infinity` if unknown). */
export type LogPrefix = { readonly below: bigint; readonly latestMs: number }

/** What commits and Redis store about the log from which a partition was read: at most two prefixes of it, or that it was replaced. */
export type LogState = { readonly isReplaced: boolean; readonly prefixes: readonly LogPrefix[] }

export const unreadLog: LogState = { isReplaced: false, prefixes: [{ below: 0n, latestMs: 0 }] }

export const replacedLog: LogState = { isReplaced: true, prefixes: [] }

const replacedText = 'replaced'

/** In commit metadata and in Redis, such as `500:1764400000000,900:1764403600000` or `replaced`. */
export const logStateText = ({ isReplaced, prefixes }: LogState): string =>
  isReplaced ? replacedText : prefixes.map(({ below, latestMs }) => `${below}:${latestMs}`).join()

/** Parses the text in commit metadata. Without text, the records below `position` were read, at unknown times. */
export function readLogState(text: string | undefined, position: bigint): LogState {
  if (text === replacedText) return { isReplaced: true, prefixes: [] }
  const prefixes = (text?.split(',') ?? []).flatMap((prefix) => {
    const [, below, latestMs] = /^(\d+):(\d+|Infinity)$/.exec(prefix) ?? []
    return below === undefined ? [] : [{ below: BigInt(below), latestMs: Number(latestMs) }]
  })
  return { isReplaced: false, prefixes: prefixes.length > 0 ? prefixes : [{ below: position, latestMs: Infinity }] }
}

/** Parses the text in Redis. Without text, no record was read. */
export const readStoredLogState = (text: string | undefined): LogState =>
  text === undefined ? unreadLog : readLogState(text, 0n)

/** Kafka's answer about a prefix. `high`: the end of the partition; `firstLater`: the first offset whose record was appended after `latestMs`. */
export type LogAnswer = { readonly high: bigint; readonly firstLater: bigint | undefined }

/**
 * Whether a log may still have a prefix. A topic that was created again either has not reached `below`, or has records below it that were appended later.
 * Compaction and clock steps do not change the answer: a record keeps its offset and append time.
 */
export const hasPrefix = ({ high, firstLater }: LogAnswer, { below }: LogPrefix): boolean =>
  high >= below && (firstLater === undefined || firstLater >= below)

/** A log counts as replaced once it has lacked a prefix in every check for this time (ms): a former leader may have answered a single check. */
export const replacedAfterMs = 30_000

/**
 * Detects that a partition is another log than the indices were read from: its topic was created again, its cluster was replaced, or the log has lost its end.
 * KafkaJS gives no id of a log, so append times are compared.
 *
 * A check tests the prefixes that were confirmed before. If the log has them, everything that was read before this check is the prefix of the next check. Why
 * does this check not test that prefix?
 * 1. An indexer has read offsets 0 to 499, until 10:00. Confirmed: `below` 500, `latestMs` 10:00.
 * 2. The topic is created again and gets 900 records, from 10:05 to 10:20. The indexer reads offsets 500 to 899, without an error.
 * 3. With `below` 900 and `latestMs` 10:20, the new log would pass. With the confirmed prefix, it fails: its records below 500 were appended after 10:00.
 */
export class ReplacementDetector {
  isReplaced: boolean
  #prefixes: readonly LogPrefix[]
  /** `below`: the end of the prefixes when reading started; `latestMs`: the latest append time in the prefixes and of the records read from `below` on. */
  #readPrefix: LogPrefix
  #lacksPrefixSinceMs: number | undefined
  /** Whether the log has had every prefix in a check of this assignment. */
  #isConfirmed = false

  constructor({ isReplaced, prefixes }: LogState) {
    this.isReplaced = isReplaced
    this.#prefixes = prefixes
    this.#readPrefix = prefixes.reduce(unionOf, { below: 0n, latestMs: 0 })
  }

  /** Whether the log counts as replaced, or has lacked a prefix in the last check. */
  get isDoubted(): boolean {
    return this.isReplaced || this.#lacksPrefixSinceMs !== undefined
  }

  /** Whether a check is due at once: the log is not confirmed, or its first record was read since the last check. */
  isUnchecked(position: bigint): boolean {
    const hasReadFirst = position > 0n && this.#prefixes.every(({ below }) => below === 0n)
    return !this.isDoubted && (!this.#isConfirmed || hasReadFirst)
  }

  /** Notes the append time of a record, also of a control record, and of a record of an aborted transaction. */
  noteTime(offset: bigint, appendedAtMs: number): void {
    // A record below this offset is in the prefixes already, or is of a new log.
    if (offset >= this.#readPrefix.below && appendedAtMs > this.#readPrefix.latestMs)
      this.#readPrefix = { below: this.#readPrefix.below, latestMs: appendedAtMs }
  }

  prefixes(): readonly LogPrefix[] {
    return this.isReplaced ? [] : this.#prefixes
  }

  /** The state to store in Redis, where it outlives the commits of a deleted topic; undefined while `isDoubted`. */
  confirmedState(): LogState | undefined {
    return this.isDoubted ? undefined : { isReplaced: false, prefixes: this.#prefixes }
  }

  /** The state to commit with `position`: the confirmed prefix and, unless `isDoubted`, the prefix up to `position`. */
  state(position: bigint): LogState {
    const prefixes = this.isDoubted ? this.#prefixes : [...this.#prefixes.slice(0, 1), this.prefixUpTo(position)]
    return { isReplaced: this.isReplaced, prefixes }
  }

  /** The prefix of every record below `position`. */
  prefixUpTo(position: bigint): LogPrefix {
    return unionOf({ below: position, latestMs: 0 }, this.#readPrefix)
  }

  /**
   * Ends a check. `readPrefix`: what was read before Kafka was queried; `answers`: one for each of `prefixes()`; `elapsedMs`: monotonic. Returns whether the log
   * counts as replaced now.
   */
  endCheck(readPrefix: LogPrefix, answers: readonly LogAnswer[], elapsedMs: number): boolean {
    const hasEveryPrefix = this.#prefixes.every((prefix, at) => {
      const answer = answers[at]
      return answer !== undefined && hasPrefix(answer, prefix)
    })
    if (hasEveryPrefix) {
      this.#prefixes = [readPrefix]
      this.#lacksPrefixSinceMs = undefined
      this.#isConfirmed = true
      return false
    }
    this.#lacksPrefixSinceMs ??= elapsedMs
    this.isReplaced ||= elapsedMs - this.#lacksPrefixSinceMs >= replacedAfterMs
    return this.isReplaced
  }
}

const unionOf = (a: LogPrefix, b: LogPrefix): LogPrefix => ({
  below: a.below > b.below ? a.below : b.below,
  latestMs: Math.max(a.latestMs, b.latestMs),
})
