import { expectDeleted, receiptLines } from '../../../../indexer/erase/erase.ts'
import type { Place } from '../../../../indexer/erase/expunge.ts'
import { isLetterOf, type KeptRecord, placesOf, readKeeping } from '../../../../indexer/erase/keptRecords.ts'
import { RecordHeaders } from '../../../../src/core/kafka/recordHeaders.ts'
import { sourceRecord } from '../../../../src/core/kafka/sourceRecord.ts'
import type { DocumentId, Offset } from '../../../../src/core/model/ids.ts'
import { toInstant } from '../../../../src/core/model/instant.ts'
import { sourceOfSettings } from '../../../support/topicSettings.ts'

const id = 'acme/s-1' as DocumentId
const topic = 'submissions'
const startMs = Date.parse('2026-01-01T00:00:00.000Z')
const dayMs = 86_400_000
const never = Number.POSITIVE_INFINITY

const kept = (partition: number, offset: number, days: number, isDeletion = false): KeptRecord => ({
  ...{ topic, partition, offset: BigInt(offset) as Offset, appendedAtMs: startMs + days * dayMs, isDeletion },
})
const deletion = (partition: number, offset: number, days: number) => kept(partition, offset, days, true)

test.each<[string, KeptRecord[], boolean]>([
  ['no record', [], true],
  ['a deletion after a record', [kept(0, 1, 0), deletion(0, 2, 1)], true],
  ['a record after a deletion', [deletion(0, 2, 1), kept(0, 3, 1)], false],
  ['a deletion in another partition, later', [kept(0, 9, 0), deletion(1, 2, 1)], true],
  ['a record in another partition, later', [deletion(0, 9, 0), kept(1, 2, 1)], false],
])('%s: whether the product has deleted it', (_, records, isDeleted) => {
  const judge = (): void => expectDeleted(id, records)
  if (isDeleted) expect(judge).not.toThrow()
  else expect(judge).toThrow(/^the product has not deleted acme\/s-1: .* Nothing was changed$/)
})

const settings = {
  ...{ 'cleanup.policy': 'compact', 'max.compaction.lag.ms': '9223372036854775807', 'retention.ms': '1000' },
  ...{ 'segment.ms': '500', 'file.delete.delay.ms': '60' },
}
const settingsOf = (changes: Record<string, string>) => ({
  source: sourceOfSettings(() => ({ ...settings, ...changes })),
})

test.each([
  [{}, never, never],
  [{ 'max.compaction.lag.ms': '7' }, 7, never],
  [{ 'cleanup.policy': 'delete', 'max.compaction.lag.ms': '7' }, never, 1500],
  [{ 'cleanup.policy': 'delete', 'retention.ms': '-1' }, never, never],
  [{ 'cleanup.policy': 'compact,delete', 'max.compaction.lag.ms': '7' }, 7, 1500],
])('a topic with %j keeps records until compaction for %d ms, and for %d ms', async (changes, compactedMs, agedMs) => {
  expect(await readKeeping(settingsOf(changes), topic)).toEqual({ compactedMs, agedMs, fileMs: 60 })
})

const daysUntil = ([first]: Place[]): number | null =>
  first?.until == null ? null : (Date.parse(first.until) - startMs) / dayMs

test.each([
  ['compacted after its deletion', [kept(0, 1, 0), deletion(0, 5, 2)], { compactedMs: 3 * dayMs, agedMs: never }, 6],
  ['old before it is compacted', [kept(0, 1, 0), deletion(0, 5, 2)], { compactedMs: 3 * dayMs, agedMs: dayMs }, 2],
  ['its deletion is in another partition', [kept(0, 1, 0), deletion(1, 5, 2)], { compactedMs: 1, agedMs: never }, null],
  ['its deletion is before it', [kept(0, 6, 0), deletion(0, 5, 2)], { compactedMs: 1, agedMs: never }, null],
  ['nothing bounds compaction', [kept(0, 1, 0), deletion(0, 5, 2)], { compactedMs: never, agedMs: never }, null],
])('how long a record is kept: %s', (_, records, keeping, days) => {
  expect(daysUntil(placesOf(records, { ...keeping, fileMs: dayMs }, startMs))).toBe(days)
})

test('of a deletion the key alone is left', () => {
  const keyAt = (offset: number) => ({ name: `submissions/3/${offset}`, state: 'key', until: null })
  const keeping = { compactedMs: 3 * dayMs, agedMs: never, fileMs: dayMs }
  const deletions = [deletion(3, 5, 0), deletion(3, 9, 1)]
  expect(placesOf(deletions, keeping, startMs + 5 * dayMs)).toMatchObject([keyAt(5), keyAt(9)])
  // A replica that no consumer reads is compacted by itself, and a file goes later than what it is replaced by.
  const replaced = { name: 'submissions/3', state: 'left', until: toInstant(startMs + 4 * dayMs) }
  expect(placesOf(deletions, keeping, startMs + 3 * dayMs)).toMatchObject([keyAt(5), replaced, keyAt(9)])
  const [, unbounded] = placesOf([deletion(3, 5, 0)], { ...keeping, compactedMs: never }, startMs + 99 * dayMs)
  expect(unbounded).toMatchObject({
    state: 'left',
    until: null,
    detail: expect.stringContaining('no max.compaction.lag'),
  })
})

test('a dead letter is of a submission by its key and its topic', () => {
  const letter = (key: string | null, from: string) =>
    sourceRecord('dead-letters', 0, {
      ...{ offset: '0', timestamp: '0', isControlRecord: false, value: null },
      headers: RecordHeaders.of([['tidemark.topic', from]]),
      key: key === null ? null : Buffer.from(key),
    })
  const isOf = isLetterOf(id, topic)
  const letters = [letter(id, topic), letter(id, 'forms'), letter('acme/s-10', topic), letter(null, topic)]
  expect(letters.map(isOf)).toEqual([true, false, false, false])
})

test('a receipt names what is left last, with its time, and says whether anything is', () => {
  const place = { engine: 'kafka', until: null, detail: 'd' } as const
  const at = toInstant(startMs)
  const receipt = { key: id, deletedAt: at, lookedAt: at, places: [] }
  const places: Place[] = [
    { ...place, name: 'a', state: 'left', until: at },
    { ...place, name: 'b', state: 'removed' },
  ]
  expect(receiptLines({ ...receipt, erased: false, places })).toEqual([
    'removed\tb\td',
    `left\ta\td; until ${at} at the latest`,
    `acme/s-1, deleted ${at}: left in 1 places; looked ${at}`,
  ])
  const nothing = `acme/s-1, deleted ${at}: nothing is left on disk; looked ${at}`
  expect(receiptLines({ ...receipt, erased: true })).toEqual([nothing])
})
