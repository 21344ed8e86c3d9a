/** A prefix of a log: no record below offset `below` was appended later than `latestMs` (epoch ms; `Infinity` if unknown). */
export type LogPrefix = { readonly below: bigint; readonly latestMs: number }

/** What is stored, in commits and Redis, about the log from which a partition was read: at most two prefixes of it, or that it was replaced. */
export type LogState = { readonly isReplaced: boolean; readonly prefixes: readonly LogPrefix[] }

/** The state of a log from which nothing was read. */
export const unreadLog: LogState = { isReplaced: false, prefixes: [{ below: 0n, latestMs: 0 }] }

/** The state of a log that was replaced: the partition is another log now. */
export const replacedLog: LogState = { isReplaced: true, prefixes: [] }

const replaced = 'replaced'

/** The text of a state in commit metadata and in Redis, such as `500:1764400000000,900:1764403600000` or `replaced`. */
export const logStateText = ({ isReplaced, prefixes }: LogState): string =>
  isReplaced ? replaced : prefixes.map(({ below, latestMs }) => `${below}:${latestMs}`).join()

/** Parses the text of a state in commit metadata. Without text, the state is: the records below `position` were read, at unknown times. */
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

/** Kafka's answer about a prefix. `high`: the end of the partition; `firstLater`: the first offset whose record was appended after `latestMs`, if any. */
export type LogAnswer = { readonly high: bigint; readonly firstLater: bigint | undefined }

/**
 * Whether a log may still have a prefix: its end is not below the offset `below`, and no record below that offset was appended after `latestMs`. Compaction
 * and clock steps do not change the answer, since a record keeps its offset and append time. A topic that was created again either has not reached
 * `below`, or has records below it that were appended later.
 */
export const hasPrefix = ({ high, firstLater }: LogAnswer, { below }: LogPrefix): boolean =>
  high >= below && (firstLater === undefined || firstLater >= below)

/** A log counts as replaced once checks have found for this time (ms) that it lacks a prefix. A shorter lack may be the answer of a former leader. */
export const replacedAfterMs = 30_000

/**
 * Detects that a partition is another log than the indices were read from: its topic was deleted and created again, a cluster was replaced under the
 * same name, or the log has lost its end. KafkaJS gives no id of a log, so append times are compared.
 *
 * A check tests the prefixes that were confirmed before; if the log has them, everything that was read before this check is the prefix of the next one. A
 * check does not test what was read since the last one, which may be of two logs already:
 * 1. An indexer has read offsets 0 to 499, until 10:00. Confirmed: `below` 500, `latestMs` 10:00.
 * 2. The topic is created again and gets 900 records, from 10:05 to 10:20. The indexer reads on at offset 500, up to 899, without an error.
 * 3. Tested with `below` 900 and `latestMs` 10:20, the new log would pass. Tested with `below` 500 and `latestMs` 10:00, it fails: its records below 500
 *    were appended after 10:00.
 */
export class ReadLog {
  isReplaced: boolean
  #prefixes: readonly LogPrefix[]
  /** `below`: the end of the prefixes when reading started; `latestMs`: the latest append time in these prefixes and of all records read from `below` on. */
  #read: LogPrefix
  #lacksPrefixSinceMs: number | undefined
  /** Whether a check has succeeded since this owner started to read. */
  #isConfirmed = false

  constructor({ isReplaced, prefixes }: LogState) {
    this.isReplaced = isReplaced
    this.#prefixes = prefixes
    this.#read = prefixes.reduce(joined, { below: 0n, latestMs: 0 })
  }

  /** Whether the log counts as replaced, or may be replaced, since the last check has failed. */
  get isDoubted(): boolean {
    return this.isReplaced || this.#lacksPrefixSinceMs !== undefined
  }

  /** Whether a check is due at once: no check has succeeded since reading started, or none since the first record of the log was read. */
  isUnchecked(position: bigint): boolean {
    const isOfNothing = position > 0n && this.#prefixes.every(({ below }) => below === 0n)
    return !this.isDoubted && (!this.#isConfirmed || isOfNothing)
  }

  /** Notes the append time of a fetched record, also of a control record and of a record of an aborted transaction. */
  noteTime(offset: bigint, appendedAtMs: number): void {
    // A record below this offset is in the prefixes already, or is of a new log that is read from its first offset.
    if (offset >= this.#read.below && appendedAtMs > this.#read.latestMs)
      this.#read = { below: this.#read.below, latestMs: appendedAtMs }
  }

  /** The prefixes that the next check tests; empty once the log counts as replaced. */
  prefixes(): readonly LogPrefix[] {
    return this.isReplaced ? [] : this.#prefixes
  }

  /** The state to store in Redis, where it survives when a topic is deleted, and its commits with it; undefined while `isDoubted`. */
  confirmedState(): LogState | undefined {
    return this.isDoubted ? undefined : { isReplaced: false, prefixes: this.#prefixes }
  }

  /** The state to commit with `position`: the confirmed prefix and, unless `isDoubted`, the prefix that was read up to `position`. */
  state(position: bigint): LogState {
    const prefixes = this.isDoubted ? this.#prefixes : [...this.#prefixes.slice(0, 1), this.upTo(position)]
    return { isReplaced: this.isReplaced, prefixes }
  }

  /** The prefix of everything that was read, given that every record below `position` was read. */
  upTo(position: bigint): LogPrefix {
    return joined({ below: position, latestMs: 0 }, this.#read)
  }

  /**
   * Ends a check. `read`: the prefix that was read before Kafka was queried; `answers`: one for each of `prefixes()`; `elapsedMs`: a time that never steps.
   * Returns whether the log counts as replaced now.
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
