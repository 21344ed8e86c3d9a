/** The records of a log below offset `below`, none of them appended after `latestMs` (epoch ms; `Infinity` if unknown). */
export type LogPrefix = { readonly below: bigint; readonly latestMs: number }

/** The log from which a partition was read: at most two of its prefixes, or that it was replaced. */
export type LogState = { readonly isReplaced: boolean; readonly prefixes: readonly LogPrefix[] }

/** The empty prefix, which every log has. */
export const unreadLog: LogState = { isReplaced: false, prefixes: [{ below: 0n, latestMs: 0 }] }

export const replacedLog: LogState = { isReplaced: true, prefixes: [] }

const replacedText = 'replaced'

/** The text in commit metadata and in Redis, such as `500:1764400000000,900:1764403600000`. */
export const logStateText = ({ isReplaced, prefixes }: LogState): string =>
  isReplaced ? replacedText : prefixes.map(({ below, latestMs }) => `${below}:${latestMs}`).join()

/** Parses the text in commit metadata. Without it, the records below the committed `position` were read at unknown append times. */
export function readLogState(text: string | undefined, position: bigint): LogState {
  if (text === replacedText) return replacedLog
  const prefixes = (text?.split(',') ?? []).flatMap((prefix) => {
    const [, below, latestMs] = /^(\d+):(\d+|Infinity)$/.exec(prefix) ?? []
    return below === undefined ? [] : [{ below: BigInt(below), latestMs: Number(latestMs) }]
  })
  return { isReplaced: false, prefixes: prefixes.length > 0 ? prefixes : [{ below: position, latestMs: Infinity }] }
}

export const readStoredLogState = (text: string | undefined): LogState =>
  text === undefined ? unreadLog : readLogState(text, 0n)

/** `high`: the end offset; `firstLater`: the first offset with a record appended after `latestMs`, if there is one and `latestMs` is known. */
export type LogAnswer = { readonly high: bigint; readonly firstLater: bigint | undefined }

/**
 * Whether a log may still have a prefix. The log of a topic created again either ends below `below`, or has records below `below` appended after `latestMs`. A
 * record keeps its offset and append time.
 */
export const hasPrefix = ({ high, firstLater }: LogAnswer, { below }: LogPrefix): boolean =>
  high >= below && (firstLater === undefined || firstLater >= below)

/** A log counts as replaced once every check for this time (ms) has failed. A former leader may answer a single one. */
export const replacedAfterMs = 30_000

/**
 * Detects that a partition has another log than the one that the indices were read from: its topic was created again, its cluster was replaced, or the log has
 * lost its end. KafkaJS gives no id of a log, so append times are compared.
 *
 * A check tests only confirmed prefixes. If the log has them, everything read before this check is confirmed. Testing everything read at once would miss this
 * replacement:
 * 1. An indexer has read offsets 0 to 499, until 10:00. Confirmed: `below` 500, `latestMs` 10:00.
 * 2. The topic is created again and gets 900 records, from 10:05 to 10:20. The indexer reads offsets 500 to 899.
 * 3. Everything read (`below` 900, `latestMs` 10:20) fits the new log. The confirmed prefix does not: records below 500 were appended after 10:00.
 */
export class ReplacementDetector {
  isReplaced: boolean
  /** What the next check tests. */
  #prefixes: readonly LogPrefix[]
  /** `below`: the end of the longest stored prefix; `latestMs`: the latest append time in the prefixes, and of the records read since. */
  #readPrefix: LogPrefix
  /** When the present run of failed checks began (monotonic, ms). */
  #lacksPrefixSinceMs: number | undefined
  #isConfirmed = false

  constructor({ isReplaced, prefixes }: LogState) {
    this.isReplaced = isReplaced
    this.#prefixes = prefixes
    this.#readPrefix = prefixes.reduce(unionOf, { below: 0n, latestMs: 0 })
  }

  get isDoubted(): boolean {
    return this.isReplaced || this.#lacksPrefixSinceMs !== undefined
  }

  /** Whether a check is due at once: none has passed yet, or the log's first record was read since the last one. */
  isUnchecked(position: bigint): boolean {
    const hasReadFirst = position > 0n && this.#prefixes.every(({ below }) => below === 0n)
    return !this.isDoubted && (!this.#isConfirmed || hasReadFirst)
  }

  /** Also for control records, and records of aborted transactions. */
  noteTime(offset: bigint, appendedAtMs: number): void {
    // A record below this offset is in a prefix already, or is of a new log.
    const { below, latestMs } = this.#readPrefix
    if (offset >= below && appendedAtMs > latestMs) this.#readPrefix = { below, latestMs: appendedAtMs }
  }

  prefixes(): readonly LogPrefix[] {
    return this.isReplaced ? [] : this.#prefixes
  }

  /** For Redis, where it outlives the commits of a deleted topic; undefined while `isDoubted`. */
  confirmedState(): LogState | undefined {
    return this.isDoubted ? undefined : { isReplaced: false, prefixes: this.#prefixes }
  }

  /** To be committed with `position`: the first confirmed prefix, then everything below `position`; while `isDoubted`, only confirmed prefixes. */
  state(position: bigint): LogState {
    const prefixes = this.isDoubted ? this.#prefixes : [...this.#prefixes.slice(0, 1), this.prefixUpTo(position)]
    return { isReplaced: this.isReplaced, prefixes }
  }

  prefixUpTo(position: bigint): LogPrefix {
    return unionOf({ below: position, latestMs: 0 }, this.#readPrefix)
  }

  /**
   * `elapsedMs`: monotonic; `readPrefix`: what was read before Kafka was queried; `answers`: in the order of `prefixes()`. Returns whether the log now counts
   * as replaced.
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

const unionOf = (a: LogPrefix, b: LogPrefix): LogPrefix => ({
  below: a.below > b.below ? a.below : b.below,
  latestMs: Math.max(a.latestMs, b.latestMs),
})
