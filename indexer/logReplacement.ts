/**
 * The records of a partition's log below offset `below`. None of them was appended later than `latestMs` (epoch ms; `Infinity` if unknown). By both numbers,
 * the log is recognised again.
 */
export type LogPrefix = { readonly below: bigint; readonly latestMs: number }

/** What commits and Redis store about the log from which a partition was read: at most two prefixes of it, or that it was replaced. */
export type LogState = { readonly isReplaced: boolean; readonly prefixes: readonly LogPrefix[] }

/** No record was read: the empty prefix, which every log has. */
export const unreadLog: LogState = { isReplaced: false, prefixes: [{ below: 0n, latestMs: 0 }] }

export const replacedLog: LogState = { isReplaced: true, prefixes: [] }

const replacedText = 'replaced'

/** The text of a state in commit metadata and in Redis: `<below>:<latestMs>,…`, such as `500:1764400000000,900:1764403600000`; or `replaced`. */
export const logStateText = ({ isReplaced, prefixes }: LogState): string =>
  isReplaced ? replacedText : prefixes.map(({ below, latestMs }) => `${below}:${latestMs}`).join()

/** Parses the text in commit metadata. If there is none, the records below `position`, the committed offset, were read; their append times are unknown. */
export function readLogState(text: string | undefined, position: bigint): LogState {
  if (text === replacedText) return replacedLog
  const prefixes = (text?.split(',') ?? []).flatMap((prefix) => {
    const [, below, latestMs] = /^(\d+):(\d+|Infinity)$/.exec(prefix) ?? []
    return below === undefined ? [] : [{ below: BigInt(below), latestMs: Number(latestMs) }]
  })
  return { isReplaced: false, prefixes: prefixes.length > 0 ? prefixes : [{ below: position, latestMs: Infinity }] }
}

/** Parses the text in Redis. If there is none, no record was read. */
export const readStoredLogState = (text: string | undefined): LogState =>
  text === undefined ? unreadLog : readLogState(text, 0n)

/**
 * Kafka's answer about a prefix. `high`: the end offset of the partition; `firstLater`: the first offset whose record was appended after `latestMs`; undefined
 * if there is none, or `latestMs` is unknown.
 */
export type LogAnswer = { readonly high: bigint; readonly firstLater: bigint | undefined }

/**
 * Whether a log may still have a prefix. If the topic was created again, its new log either ends below `below`, or has records below `below` that were appended
 * after `latestMs`. Compaction and steps of a clock do not change the answer: a record keeps its offset and append time.
 */
export const hasPrefix = ({ high, firstLater }: LogAnswer, { below }: LogPrefix): boolean =>
  high >= below && (firstLater === undefined || firstLater >= below)

/** A log counts as replaced once it has lacked a prefix in every check for this time (ms). A single check may have been answered by a former leader. */
export const replacedAfterMs = 30_000

/**
 * Detects that a partition has another log now than the one that the indices were read from: its topic was created again, its cluster was replaced, or the log
 * has lost its end. KafkaJS gives no id of a log, so append times are compared.
 *
 * A check tests only prefixes that an earlier check has confirmed. If the log has them, everything that was read before this check is confirmed: it is the
 * prefix for the next check. Why does a check not test everything that was read? Example:
 * 1. An indexer has read offsets 0 to 499, until 10:00. Confirmed: `below` 500, `latestMs` 10:00.
 * 2. The topic is created again and gets 900 records, from 10:05 to 10:20. The indexer reads offsets 500 to 899, without an error.
 * 3. With everything that was read (`below` 900, `latestMs` 10:20), the new log would pass. With the confirmed prefix, it fails: its records below 500 were
 *    appended after 10:00.
 */
export class ReplacementDetector {
  isReplaced: boolean
  /** The prefixes that the next check tests: at first as stored by earlier assignments, later the prefix that the last check has confirmed. */
  #prefixes: readonly LogPrefix[]
  /**
   * `below`: the end of the longest prefix when reading started; `latestMs`: the latest append time in the prefixes, and of the records read from `below` on.
   */
  #readPrefix: LogPrefix
  /** When the first of the present, uninterrupted run of failed checks ended (monotonic, ms); undefined if the last check has not failed. */
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

  /** Whether a check is due at once: no check of this assignment has passed yet, or the log's first record was read since the last check. */
  isUnchecked(position: bigint): boolean {
    const hasReadFirst = position > 0n && this.#prefixes.every(({ below }) => below === 0n)
    return !this.isDoubted && (!this.#isConfirmed || hasReadFirst)
  }

  /** Notes the append time of a record that was read, even if it is a control record, or of an aborted transaction. */
  noteTime(offset: bigint, appendedAtMs: number): void {
    // A record below this offset is in the prefixes already, or is of a new log.
    const { below, latestMs } = this.#readPrefix
    if (offset >= below && appendedAtMs > latestMs) this.#readPrefix = { below, latestMs: appendedAtMs }
  }

  /** The prefixes to query Kafka about; none if the log counts as replaced. */
  prefixes(): readonly LogPrefix[] {
    return this.isReplaced ? [] : this.#prefixes
  }

  /** The state to store in Redis, where it outlives the commits of a deleted topic; undefined while `isDoubted`. */
  confirmedState(): LogState | undefined {
    return this.isDoubted ? undefined : { isReplaced: false, prefixes: this.#prefixes }
  }

  /**
   * The state to commit with `position`: the first confirmed prefix and, as the second, everything below `position`. While `isDoubted`, only confirmed
   * prefixes.
   */
  state(position: bigint): LogState {
    const prefixes = this.isDoubted ? this.#prefixes : [...this.#prefixes.slice(0, 1), this.prefixUpTo(position)]
    return { isReplaced: this.isReplaced, prefixes }
  }

  /** The prefix of all records below `position`, which were read. */
  prefixUpTo(position: bigint): LogPrefix {
    return unionOf({ below: position, latestMs: 0 }, this.#readPrefix)
  }

  /**
   * Ends a check, at `elapsedMs` of a monotonic clock. `readPrefix`: what was read before Kafka was queried; `answers`: one for each of `prefixes()`, in their
   * order. Returns whether the log counts as replaced now.
   */
  endCheck(readPrefix: LogPrefix, answers: readonly LogAnswer[], elapsedMs: number): boolean {
    const hasEveryPrefix = this.#prefixes.every((prefix, index) => {
      const answer = answers[index]
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

/** The longer prefix, with the later of both times. */
const unionOf = (a: LogPrefix, b: LogPrefix): LogPrefix => ({
  below: a.below > b.below ? a.below : b.below,
  latestMs: Math.max(a.latestMs, b.latestMs),
})
