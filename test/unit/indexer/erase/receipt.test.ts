import fc from 'fast-check'
import { expectDeleted, receiptLines } from '../../../../indexer/erase/erase.ts'
import type { Place } from '../../../../indexer/erase/expunge.ts'
import { isAboutSubmission } from '../../../../indexer/erase/isAboutSubmission.ts'
import {
  type KeptRecord,
  lettersOf,
  placesOf,
  type Retention,
  readKept,
  readRetention,
  recordsOf,
} from '../../../../indexer/erase/keptRecords.ts'
import { noHeaders, RecordHeaders } from '../../../../src/core/kafka/recordHeaders.ts'
import type { SourceRecord } from '../../../../src/core/kafka/sourceRecord.ts'
import type { DocumentId, EntityId, Offset } from '../../../../src/core/model/ids.ts'
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
  [{ 'cleanup.policy': 'delete', 'retention.ms': '0' }, never, 500],
  [{ 'cleanup.policy': 'delete', 'retention.ms': '-1' }, never, never],
  [{ 'cleanup.policy': 'compact,delete', 'max.compaction.lag.ms': '7' }, 7, 1500],
])('a topic with %j keeps records until compaction for %d ms, and for %d ms', async (changes, compactedMs, agedMs) => {
  expect(await readRetention(settingsOf(changes), topic)).toEqual({ compactedMs, agedMs, fileMs: 60 })
})

const bothKept = [kept(0, 1, 0), deletion(0, 5, 2)]
const [compaction, noLag] = ['until compaction, if its partition gets a record then', 'neither retention nor max']
test.each([
  ['compacted after its deletion', bothKept, { compactedMs: 3 * dayMs, agedMs: never }, 6, compaction],
  ['old before it is compacted', bothKept, { compactedMs: 3 * dayMs, agedMs: dayMs }, 2, 'until retention removes it'],
  [
    ...['its deletion is in another partition', [kept(0, 1, 0), deletion(1, 5, 2)]],
    ...[{ compactedMs: 1, agedMs: never }, null, 'kept for ever: its partition has no deletion, and no retention'],
  ],
  [
    ...['its deletion is before it', [kept(0, 6, 0), deletion(0, 5, 2)]],
    ...[{ compactedMs: 1, agedMs: never }, null, 'kept for ever: its partition has no deletion, and no retention'],
  ],
  ['nothing bounds compaction', bothKept, { compactedMs: never, agedMs: never }, null, noLag],
] as [string, KeptRecord[], Omit<Retention, 'fileMs'>, number | null, string][])(
  'how long a record is kept: %s',
  (_, records, keeping, days, how) => {
    const [place] = placesOf(records, { ...keeping, fileMs: dayMs }, startMs)
    expect(place?.state).toBe('left')
    expect(place?.until).toBe(days === null ? null : toInstant(startMs + days * dayMs))
    expect(place?.detail).toMatch(/^record of 2026-01-01T00:00:00.000Z, .+/)
    expect(place?.detail).toContain(how)
  },
)

test('a deletion leaves its key alone', () => {
  const keyAt = (offset: number, day: number) => {
    const detail = `deletion of ${toInstant(startMs + day * dayMs)}, the key alone`
    return { name: `submissions/3/${offset}`, state: 'key', until: null, detail }
  }
  const keeping = { compactedMs: 3 * dayMs, agedMs: never, fileMs: dayMs }
  const deletions = [deletion(3, 5, 0), deletion(3, 9, 1)]
  expect(placesOf(deletions, keeping, startMs + 5 * dayMs)).toMatchObject([keyAt(5, 0), keyAt(9, 1)])
  // A replica that no consumer reads is compacted by itself, and a file goes later than what it is replaced by.
  const detail = 'replicas and old segment files may have records before 5'
  const replaced = { name: 'submissions/3', state: 'left', until: toInstant(startMs + 4 * dayMs), detail }
  expect(placesOf(deletions, keeping, startMs + 3 * dayMs)).toMatchObject([keyAt(5, 0), replaced, keyAt(9, 1)])
  // Neither a record in another partition nor one under another key is what the deletion has replaced.
  const others = [kept(2, 1, 0), { ...kept(3, 1, 0), otherKey: { key: 'acme/s-2', replacedAtMs: never } }]
  const withOthers = placesOf([...others, ...deletions], keeping, startMs + 3 * dayMs)
  expect(withOthers.slice(2)).toMatchObject([keyAt(5, 0), replaced, keyAt(9, 1)])
  const [, unbounded] = placesOf([deletion(3, 5, 0)], { ...keeping, compactedMs: never }, startMs + 99 * dayMs)
  expect(unbounded).toMatchObject({
    state: 'left',
    until: null,
    detail: expect.stringMatching(
      /^replicas and old segment files may have records before 5, .*nor max\.compaction\.lag/,
    ),
  })
})

const topics = { TOPIC_SUBMISSIONS: topic }
/** A record in a topic, of which a submission is looked for. */
function record(key: string | null, value: string | null, of: string = id, from = topic) {
  const bytes = (text: string | null) => (text === null ? null : Buffer.from(text))
  return { topic: from, key: bytes(key), value: bytes(value), of: of as DocumentId }
}
const says = (entity: string, said: object) => JSON.stringify({ revision: 1, [entity]: said })
const own = says('submission', { id: 's-1', name: 'Ada' })

test.each<[string, ReturnType<typeof record>, 'by-key' | 'by-value' | undefined]>([
  ['its key', record(id, 'no JSON'), 'by-key'],
  ['its key, without a value', record(id, null), 'by-key'],
  ['another key, and another id', record('acme/s-10', says('submission', { id: 's-10' })), undefined],
  ['another key, and its id', record('acme/s-2', own), 'by-value'],
  ['no key, and its id', record(null, own), 'by-value'],
  ['a key of another team, and its id', record('umbrella/s-2', own), 'by-value'],
  ['the key of another team with the same id', record('umbrella/s-1', own), undefined],
  ['a key with the id but without a team', record('/s-1', own), 'by-value'],
  ['a key with the id, of what cannot be a team', record('acme corp/s-1', own), 'by-value'],
  ['another key, without a value', record('acme/s-2', null), undefined],
  ['another key, and the id as a number', record('acme/2', says('submission', { id: 7 }), 'acme/7'), 'by-value'],
  [
    'another key, and the id elsewhere',
    record('acme/s-2', says('submission', { id: 's-2', examinee: { id: 's-1' } })),
    undefined,
  ],
  ['another key, and the id of a form', record('acme/f-2', says('form', { id: 's-1' }), id, 'forms'), undefined],
  ['its key, sent to the forms', record(id, own, id, 'forms'), 'by-value'],
  ['a form of its id', record(id, says('form', { id: 's-1' }), id, 'forms'), undefined],
  [
    'a form of its id, with a quoted word in its title',
    record(id, says('form', { id: 's-1', title: 'your "submission"' }), id, 'forms'),
    undefined,
  ],
  ['an account key of its id', record(id, says('key', { id: 's-1' }), id, 'account-keys'), undefined],
  [
    'a submission that says the id elsewhere',
    record('acme/s-2', says('submission', { data: { id: 's-1' } })),
    'by-value',
  ],
  ['a submission as text beside a form', record('acme/s-2', JSON.stringify({ form: {}, submission: own })), 'by-value'],
  ['broken JSON', record('acme/s-2', own.slice(0, -8)), 'by-value'],
  ['broken JSON of a longer id', record('acme/s-2', '{"submission":{"id": "s-10", "name"'), undefined],
  ['broken JSON of a form', record(id, '{"form":{"id":"s-1",', id, 'forms'), undefined],
  ['a record within a string', record('acme/s-2', JSON.stringify(JSON.stringify(own))), 'by-value'],
  ['a record within an envelope', record('acme/s-2', `{"payload":${own}}`), 'by-value'],
  ['a list', record('acme/s-2', '[null, {"id" : "s-1"}]'), 'by-value'],
])('whether a record is of a submission: %s', (_, found, known) => {
  expect(recordsOf(found.of, topics)(found)).toBe(known)
  const headers = RecordHeaders.of([['tidemark.topic', found.topic]])
  expect(lettersOf(found.of, topics)({ ...kept(0, 1, 1), ...found, headers, topic: 'dead-letters' })).toBe(known)
})

test('a quoted, wrapped or cut value is recognised by the id of its submission, and by no other', () => {
  const ids = fc.stringMatching(/^[A-Za-z0-9._:-]{1,128}$/)
  const wrapped = (text: string, quotes: number): string =>
    quotes === 0 ? text : wrapped(JSON.stringify(text), quotes - 1)
  fc.assert(
    fc.property(ids, ids, fc.nat(3), fc.nat(9), (said, other, quotes, cut) => {
      const text = wrapped(says('submission', { id: said, name: 'Ada' }), quotes)
      const bytes = Buffer.from(text.slice(0, text.length - cut))
      expect(isAboutSubmission(bytes, said as EntityId)).toBe(true)
      expect(isAboutSubmission(bytes, other as EntityId)).toBe(said === other)
    }),
  )
})

/** What is kept of a topic with these records, and what was said of the progress. */
async function readAll(all: readonly SourceRecord[]) {
  const said: [step: string, done: number, total: number][] = []
  const source = {
    offsetRanges: async (names: readonly string[]) => new Map(names.map((name) => [name, { low: 1n, high: 5n }])),
    readTopic: async ({ onRecord }: { onRecord(record: SourceRecord): Promise<void> }) => {
      for (const each of all) await onRecord(each)
    },
  }
  const progress = (...each: (typeof said)[number]) => void said.push(each)
  const report = { step: () => undefined, progress, end: () => undefined }
  const tools = { source, report, signal: new AbortController().signal } as unknown as Parameters<typeof readKept>[0]
  return { found: await readKept(tools, topic, recordsOf(id, topics)), said }
}

test('a record under another key stays until a later record of that key replaces it', async () => {
  const { found, said } = await readAll([
    { ...kept(0, 1, 0), ...record('acme/s-2', own), headers: noHeaders },
    { ...kept(0, 2, 1), ...record('acme/s-3', own), headers: noHeaders },
    { ...deletion(0, 3, 2), ...record(id, null), headers: noHeaders },
    { ...kept(0, 4, 3), ...record('acme/s-2', says('submission', { id: 's-2' })), headers: noHeaders },
    { ...kept(0, 5, 4), ...record('acme/s-2', null), headers: noHeaders },
    { ...kept(0, 6, 5), ...record(null, own), headers: noHeaders },
    { ...kept(0, 7, 6), ...record(id, own), headers: noHeaders },
  ])
  const keeping = { compactedMs: 7 * dayMs, agedMs: never, fileMs: 0 }
  const places = placesOf(found, keeping, startMs + 99 * dayMs)
  expect(places).toMatchObject([
    { name: 'submissions/0/1', state: 'left', until: toInstant(startMs + 10 * dayMs) },
    { name: 'submissions/0/2', state: 'left', until: null },
    { name: 'submissions/0/3', state: 'key' },
    { name: 'submissions/0/6', state: 'left', until: null },
    { name: 'submissions/0/7', state: 'left', until: null },
  ])
  const waits = 'until another record of that key, and its compaction'
  expect(places.map(({ detail }) => detail)).toEqual([
    expect.stringMatching(
      / under the key acme\/s-2, whose value contains the id, until compaction, or until retention removes it$/,
    ),
    expect.stringContaining(` under the key acme/s-3, whose value contains the id, ${waits}`),
    expect.stringContaining('the key alone'),
    expect.stringContaining(` under no key, whose value contains the id, ${waits}`),
    expect.stringContaining('kept for ever'),
  ])
  // Once the record is replaced, the lag of compaction alone bounds how long it stays.
  const [unbounded] = placesOf(found, { ...keeping, compactedMs: never }, startMs)
  expect(unbounded?.detail).toContain('nor max.compaction.lag.ms')
  expect([said[0], said.at(-1)]).toEqual([
    ['records of submissions read', 1, 4],
    ['records of submissions read', 7, 4],
  ])
})

test('a receipt lists removed data first, then data that is left with its time, or says that nothing is left', () => {
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
