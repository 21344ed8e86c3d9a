/** A statement about a log: no record below offset `below` was appended later than `latestMs` (epoch ms; `Infinity` if that is unknown). */
export type LogPrefix = { readonly below: bigint; readonly latestMs: number }

/** What commits, and Redis beside them, keep of the log that a partition was read from: at most two prefixes of it, or that another log was found in its place. */
export type LogState = { readonly isReplaced: boolean; readonly prefixes: readonly LogPrefix[] }

/** Of a partition of which nothing was read. */
export const unreadLog: LogState = { isReplaced: false, prefixes: [{ below: 0n, latestMs: 0 }] }

/** Of a partition of another log than the generation was read from. */
export const replacedLog: LogState = { isReplaced: true, prefixes: [] }

const replaced = 'replaced'

/** The text of a state in the metadata of a commit. */
export const logStateText = ({ isReplaced, prefixes }: LogState): string =>
  isReplaced ? replaced : prefixes.map(({ below, latestMs }) => `${below}:${latestMs}`).join()

/** Reads the text of a state; without one, all that is known is that records below `position` were read. */
export function readLogState(text: string | undefined, position: bigint): LogState {
  if (text === replaced) return { isReplaced: true, prefixes: [] }
  const prefixes = (text?.split(',') ?? []).flatMap((each) => {
    const [, below, latestMs] = /^(\d+):(\d+|Infinity)$/.exec(each) ?? []
    return below === undefined ? [] : [{ below: BigInt(below), latestMs: Number(latestMs) }]
  })
  return { isReplaced: false, prefixes: prefixes.length > 0 ? prefixes : [{ below: position, latestMs: Infinity }] }
}

/** What is kept beside commits of a log; without it, nothing was read. */
export const readKeptLog = (text: string | undefined): LogState =>
  text === undefined ? unreadLog : readLogState(text, 0n)

/** What Kafka answers about a partition. `firstLater`: the first offset of a record that was appended after `latestMs` of a prefix. */
export type LogAnswer = { readonly high: bigint; readonly firstLater: bigint | undefined }

/**
 * Whether a log may still have this prefix. Its end is not below the prefix, and no record of the prefix was appended later than is known
 * of all of them. Clocks that step and compaction change neither: a record keeps offset and append time until it is removed. A topic that was deleted and
 * made anew holds records below that offset which were appended later than any of the former topic.
 */
export const hasPrefix = ({ high, firstLater }: LogAnswer, { below }: LogPrefix): boolean =>
  high >= below && (firstLater === undefined || firstLater >= below)

/** For how long (ms) a log must lack a prefix that was read before it counts as another one: a former leader may answer for a while. */
export const replacedAfterMs = 30_000

/**
 * Whether a partition is still the log that the indices were read from. Kafka names no log that KafkaJS could ask for: a topic that was deleted and made
 * anew, another cluster under the same name, or a log whose end was lost are noticed by what was appended when.
 *
 * Each check asks for prefixes that an earlier check has found in the log, and then goes on with what is read now. What is read now may be of two logs
 * already. Example: an indexer has read up to offset 500; the topic is made anew and gets 900 records; the indexer goes on at 500 without an
 * error. Of the latest record that it has read no later one is found below offset 900, but of the one below 500 that it knew before.
 */
export class ReadLog {
  isReplaced: boolean
  /** To be found in the log by the next check. */
  #prefixes: readonly LogPrefix[]
  /** What is read: records below `below` count as read before. */
  #read: LogPrefix
  #lacksPrefixSinceMs: number | undefined
  #isFound = false

  /** `state`: what is committed. */
  constructor({ isReplaced, prefixes }: LogState) {
    this.isReplaced = isReplaced
    this.#prefixes = prefixes
    this.#read = prefixes.reduce(joined, { below: 0n, latestMs: 0 })
  }

  /** Whether the log lacks a prefix that was read, perhaps not for long enough to count as another one. */
  get isDoubted(): boolean {
    return this.isReplaced || this.#lacksPrefixSinceMs !== undefined
  }

  /** Whether a check is due at once: none has found what was known when reading began, or nothing was read before the last one. */
  isUnchecked(position: bigint): boolean {
    const isOfNothing = position > 0n && this.#prefixes.every(({ below }) => below === 0n)
    return !this.isDoubted && (!this.#isFound || isOfNothing)
  }

  /** Notes a record, a control record or one of an aborted transaction that is read at an offset. */
  noteTime(offset: bigint, appendedAtMs: number): void {
    // Records below are in the prefix. Those of another log, which is read from its beginning, must not count as its own.
    if (offset >= this.#read.below && appendedAtMs > this.#read.latestMs)
      this.#read = { below: this.#read.below, latestMs: appendedAtMs }
  }

  /** What to ask Kafka for. */
  prefixes(): readonly LogPrefix[] {
    return this.isReplaced ? [] : this.#prefixes
  }

  /** What a check has found, to be kept where the topic is deleted with its commits; undefined while the log is doubted. */
  found(): LogState | undefined {
    return this.isDoubted ? undefined : { isReplaced: false, prefixes: this.#prefixes }
  }

  /** What to commit with `position`. */
  state(position: bigint): LogState {
    const prefixes = this.isDoubted ? this.#prefixes : [...this.#prefixes.slice(0, 1), this.upTo(position)]
    return { isReplaced: this.isReplaced, prefixes }
  }

  /** What is read now, with every record below `position`. */
  upTo(position: bigint): LogPrefix {
    return joined({ below: position, latestMs: 0 }, this.#read)
  }

  /**
   * Ends a check. `read`: what was read before Kafka was asked; `answers`: one for each of `prefixes()`; `elapsedMs`: a time that never steps.
   * Returns whether the log counts as another one from now on.
   */
  endCheck(read: LogPrefix, answers: readonly LogAnswer[], elapsedMs: number): boolean {
    const isFound = this.#prefixes.every((prefix, at) => {
      const answer = answers[at]
      return answer !== undefined && hasPrefix(answer, prefix)
    })
    if (isFound) {
      this.#prefixes = [read]
      this.#lacksPrefixSinceMs = undefined
      this.#isFound = true
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
