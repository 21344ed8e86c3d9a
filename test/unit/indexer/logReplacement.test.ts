import fc from 'fast-check'
import {
  type LogAnswer,
  type LogPrefix,
  logStateText,
  ReplacementDetector,
  readLogState,
  readStoredLogState,
  replacedAfterMs,
  unreadLog,
} from '../../../indexer/logReplacement.ts'

type LogRecord = { readonly offset: bigint; readonly appendedAtMs: number }

/** What Kafka answers about a prefix of a log with these records and this end. */
const answerOf =
  (records: readonly LogRecord[], high: bigint) =>
  ({ latestMs }: LogPrefix): LogAnswer => ({
    high,
    firstLater: records.find(({ appendedAtMs }) => appendedAtMs > latestMs)?.offset,
  })

/** Records of a new log whose clock may step back and forth. */
const someTimes = (fromMs: number) => fc.array(fc.integer({ min: fromMs, max: fromMs + 1_000 }), { maxLength: 20 })
const logOf = (times: readonly number[]): LogRecord[] =>
  times.map((appendedAtMs, at) => ({ offset: BigInt(at), appendedAtMs }))
const endOf = (records: readonly LogRecord[]): bigint => BigInt(records.length)

/** Has an indexer read the records from an offset on. */
function readFrom(log: ReplacementDetector, records: readonly LogRecord[], from: bigint): void {
  for (const { offset, appendedAtMs } of records) if (offset >= from) log.noteTime(offset, appendedAtMs)
}

/** Checks a log against Kafka. */
function check(log: ReplacementDetector, records: readonly LogRecord[], position: bigint, elapsedMs: number): boolean {
  const high = endOf(records)
  return log.endCheck(log.prefixUpTo(position), log.prefixes().map(answerOf(records, high)), elapsedMs)
}

/** Whether checks of a log from which so much was read lead to the conclusion that it is another one. */
function isTakenForAnother(log: ReplacementDetector, records: readonly LogRecord[], position: bigint): boolean {
  check(log, records, position, 0)
  return check(log, records, position, replacedAfterMs)
}

test('the same log is never taken for another, whatever its clocks did and compaction removed', () => {
  fc.assert(
    fc.property(someTimes(0), someTimes(0), fc.func(fc.boolean()), fc.boolean(), (first, more, isKept, isNew) => {
      const all = logOf([...first, ...more])
      const read = all.slice(0, first.length)
      const before = new ReplacementDetector(unreadLog)
      readFrom(before, read, 0n)
      check(before, read, endOf(read), 0)
      // Another indexer may have the partition meanwhile.
      const state = logStateText(before.state(endOf(read)))
      const log = isNew ? new ReplacementDetector(readLogState(state, endOf(read))) : before
      readFrom(log, all, endOf(read))
      const left = all.filter(({ offset }) => isKept(String(offset)))
      const answers = log.prefixes().map(answerOf(left, endOf(all)))
      expect(log.endCheck(log.prefixUpTo(endOf(all)), answers, replacedAfterMs)).toBe(false)
      expect(log.isDoubted).toBe(false)
    }),
  )
})

test('a log that was replaced by later records is recognised, however long it is, and also after a restart', () => {
  fc.assert(
    fc.property(
      someTimes(0).filter(({ length }) => length > 0),
      someTimes(2_000),
      fc.boolean(),
      (former, present, isNew) => {
        const old = logOf(former)
        const other = logOf(present)
        const before = new ReplacementDetector(unreadLog)
        readFrom(before, old, 0n)
        check(before, old, endOf(old), 0)
        const state = logStateText(before.state(endOf(old)))
        const log = isNew ? new ReplacementDetector(readLogState(state, endOf(old))) : before
        // The indexer goes on where it was, or from the beginning where that is beyond the end.
        readFrom(log, other, endOf(old) <= endOf(other) ? endOf(old) : 0n)
        expect(isTakenForAnother(log, other, endOf(other))).toBe(true)
      },
    ),
  )
})

test('a replaced log is recognised also if the indexer that read it dies before its check', () => {
  const former = logOf([10, 20])
  const present = logOf([100, 110, 120, 130])
  const first = new ReplacementDetector(unreadLog)
  readFrom(first, former, 0n)
  check(first, former, 2n, 0)
  readFrom(first, present, 2n)
  const second = new ReplacementDetector(readLogState(logStateText(first.state(4n)), 4n))
  expect(isTakenForAnother(second, present, 4n)).toBe(true)
})

test('a log that lost its end is recognised once other records were appended at the offsets that were read', () => {
  const log = new ReplacementDetector(unreadLog)
  const former = logOf([10, 20, 30, 40])
  readFrom(log, former, 0n)
  check(log, former, 4n, 0)
  expect(isTakenForAnother(log, logOf([10, 20, 130, 140, 150]), 4n)).toBe(true)
})

test('a log is only suspected for half a minute, because a former leader may have answered', () => {
  const records = logOf([10, 20])
  const log = new ReplacementDetector(unreadLog)
  readFrom(log, records, 0n)
  check(log, records, 2n, 0)
  expect(check(log, records.slice(0, 1), 2n, 1_000)).toBe(false)
  expect([log.isDoubted, log.isReplaced]).toEqual([true, false])
  expect(check(log, records, 2n, 1_000 + replacedAfterMs)).toBe(false)
  expect(log.isDoubted).toBe(false)
})

test('a replaced log stays known to every later indexer', () => {
  const log = new ReplacementDetector(readLogState('2:20', 2n))
  expect(isTakenForAnother(log, logOf([100]), 0n)).toBe(true)
  const text = logStateText(log.state(1n))
  expect(new ReplacementDetector(readLogState(text, 1n))).toMatchObject({ isReplaced: true, isDoubted: true })
})

test.each([
  ['of an earlier release', undefined],
  ['that cannot be read', 'two:three'],
])('a commit %s counts by its position only', (_, text) => {
  const log = new ReplacementDetector(readLogState(text, 3n))
  expect(isTakenForAnother(log, logOf([100, 110, 120]), 3n)).toBe(false)
  expect(isTakenForAnother(new ReplacementDetector(readLogState(text, 3n)), logOf([100]), 1n)).toBe(true)
})

test('a partition without a stored log state counts as unread', () => {
  expect(readStoredLogState(undefined)).toEqual(unreadLog)
  expect(readStoredLogState('7:900')).toEqual({ isReplaced: false, prefixes: [{ below: 7n, latestMs: 900 }] })
})

test('a check is due at once for offsets that no check has covered', () => {
  const log = new ReplacementDetector(unreadLog)
  expect(log.isUnchecked(0n)).toBe(true)
  check(log, [], 0n, 0)
  expect([log.isUnchecked(0n), log.isUnchecked(1n)]).toEqual([false, true])
  check(log, logOf([10]), 1n, 0)
  expect(log.isUnchecked(1n)).toBe(false)
})
