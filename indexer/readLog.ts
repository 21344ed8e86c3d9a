/** A prefix of a log: no record below offset `below` was appended later than `latestMs` (epoch ms; `Infinity` if unknown). */
export type LogPrefix = { readonly below: bigint; readonly latestMs: number }

/** The state of a log that a partition was read from, as commits and Redis keep it: at most two prefixes of the log, or that the log was replaced. */
export type LogState = { readonly isReplaced: boolean; readonly prefixes: readonly LogPrefix[] }

/** The state of a log of which nothing was read. */
export const unreadLog: LogState = { isReplaced: false, prefixes: [{ below: 0n, latestMs: 0 }] }

/** The state of a log in whose place the partition is another log now. */
export const replacedLog: LogState = { isReplaced: true, prefixes: [] }

const replaced = 'replaced'

/** The text of a state in commit metadata and in Redis, such as `500:1764400000000,900:1764403600000` or `replaced`. */
export const logStateText = ({ isReplaced, prefixes }: LogState): string =>
  isReplaced ? replaced : prefixes.map(({ below, latestMs }) => `${below}:${latestMs}`).join()

/** Parses the text of a state. Without text, the state is that the records below `position` were read, at unknown times. */
export function readLogState(text: string | undefined, position: bigint): LogState {
  if (text === replaced) return { isReplaced: true, prefixes: [] }
  const prefixes = (text?.split(',') ?? []).flatMap((prefix) => {
    const [, below, latestMs] = /^(\d+):(\d+|Infinity)$/.exec(prefix) ?? []
    return below === undefined ? [] : [{ below: BigInt(below), latestMs: Number(latestMs) }]
  })
  return { isReplaced: false, prefixes: prefixes.length > 0 ? prefixes : [{ below: position, latestMs: Infinity }] }
}

/** Parses the text of a state in Redis. Without text, nothing was read. */
export const readKeptLog = (text: string | undefined): LogState =>
  text === undefined ? unreadLog : readLogState(text, 0n)

/** Kafka's answer about a prefix. `high`: the end of the partition; `firstLater`: the first offset that was appended after `latestMs` of the prefix. */
export type LogAnswer = { readonly high: bigint; readonly firstLater: bigint | undefined }

/**
 * Whether a log may still have a prefix: its end is not below, and no record below was appended after `latestMs`. Compaction and clock steps do not change
 * this: a record keeps offset and append time. A topic that was created again has records below that offset that were appended later.
 */
export const hasPrefix = ({ high, firstLater }: LogAnswer, { below }: LogPrefix): boolean =>
  high >= below && (firstLater === undefined || firstLater >= below)

/** A log counts as replaced once it has lacked a prefix for this time (ms). Until then, the answers may be those of a former leader. */
export const replacedAfterMs = 30_000

/**
 * Detects that a partition is another log than the indices were read from: its topic was deleted and created again, a cluster was replaced under the
 * same name, or the log has lost its end. KafkaJS gives no id of a log, so append times are compared.
 *
 * A check looks for the prefixes that an earlier check has confirmed; if the log has them, what was read since then is the prefix of the next check.
 * It does not look for what was read last, which may already be of two logs:
 * 1. An indexer has read offsets 0 to 499, until 10:00. Confirmed: `below` 500, `latestMs` 10:00.
 * 2. The topic is created again and gets 900 records, from 10:05 on. The indexer reads on at offset 500, without an error, until 10:20.
 * 3. The log has no record below 900 that was appended after 10:20, which shows nothing. But it has one below 500 that was appended after 10:00.
 */
export class ReadLog {
  isReplaced: boolean
  #prefixes: readonly LogPrefix[]
  /** `below`: the end of the prefixes at the start of reading; `latestMs`: of these prefixes, and of the records that were read from `below` on. */
  #read: LogPrefix
  #lacksPrefixSinceMs: number | undefined
  /** A check has succeeded since this owner started to read. */
  #isConfirmed = false

  constructor({ isReplaced, prefixes }: LogState) {
    this.isReplaced = isReplaced
    this.#prefixes = prefixes
    this.#read = prefixes.reduce(joined, { below: 0n, latestMs: 0 })
  }

  /** Whether the last check has failed: the log is replaced, or may be. */
  get isDoubted(): boolean {
    return this.isReplaced || this.#lacksPrefixSinceMs !== undefined
  }

  /** Whether a check is due at once: none has succeeded since reading started, or the first records were read after the last check. */
  isUnchecked(position: bigint): boolean {
    const isOfNothing = position > 0n && this.#prefixes.every(({ below }) => below === 0n)
    return !this.isDoubted && (!this.#isConfirmed || isOfNothing)
  }

  /** Notes the append time of a fetched record, also of a control record and of a record of an aborted transaction. */
  noteTime(offset: bigint, appendedAtMs: number): void {
    // A record below the start is in the prefix, or belongs to a new log that is read from its first offset.
    if (offset >= this.#read.below && appendedAtMs > this.#read.latestMs)
      this.#read = { below: this.#read.below, latestMs: appendedAtMs }
  }

  /** The prefixes that the next check looks for; none once the log is replaced. */
  prefixes(): readonly LogPrefix[] {
    return this.isReplaced ? [] : this.#prefixes
  }

  /** The state for Redis, where it survives the deletion of a topic with its commits; undefined while the log is doubted. */
  confirmedState(): LogState | undefined {
    return this.isDoubted ? undefined : { isReplaced: false, prefixes: this.#prefixes }
  }

  state(position: bigint): LogState {
    const prefixes = this.isDoubted ? this.#prefixes : [...this.#prefixes.slice(0, 1), this.upTo(position)]
    return { isReplaced: this.isReplaced, prefixes }
  }

  /** The prefix that was read when every record below `position` is read. */
  upTo(position: bigint): LogPrefix {
    return joined({ below: position, latestMs: 0 }, this.#read)
  }

  /**
   * Ends a check. `read`: the prefix that was read before the query; `answers`: one for each of `prefixes()`; `elapsedMs`: a time that never steps.
   * Returns whether the log counts as replaced from now on.
   */
  endCheck(read: LogPrefix, answers: readonly LogAnswer[], elapsedMs: number): boolean {
    const hasEveryPrefix = this.#prefixes.every((prefix, at) => {
      const answer = answers[at]
      return answer !== undefined && hasPrefix(answer, prefix)
    })
    if (hasEveryPrefix) {
      this.#prefixes = [read]
      this.#lacksPrefixSinceMs = undefined
      this.#isConfirmed = true
      return false
    }
    this.#lacksPrefixSinceMs ??= elapsedMs
    this.isReplaced ||= elapsedMs - this.#lacksPrefixSinceMs >= replacedAfterMs
    return this.isReplaced
  }
}

const joined = (a: LogPrefix, b: LogPrefix): LogPrefix => ({
  below: a.below > b.below ? a.below : b.below,
  latestMs: Math.max(a.latestMs, b.latestMs),
})
