import type { ContentDigest } from '../../../../indexer/verify/content.ts'
import type { DocumentEntry, RecordEntry } from '../../../../indexer/verify/entries.ts'
import { differenceKindOf, judge, relevantOf } from '../../../../indexer/verify/judge.ts'
import { type DocumentId, deletedRevision, type Offset, type Revision } from '../../../../src/core/model/ids.ts'

const id = 'acme/s1' as DocumentId

const record = (version: number, changes: Partial<RecordEntry> & { text?: string } = {}): RecordEntry => {
  const { text = `v${version}`, ...others } = changes
  return {
    ...{ type: 'submissions', id, version: version as Revision, partition: 0, offset: 0n as Offset },
    ...{ changedAtLeastMs: 1_000, isCommitted: true },
    digests: { list: `list ${text}` as ContentDigest, detail: `detail ${text}` as ContentDigest },
    ...others,
  }
}
const later = { isCommitted: false }
const deletion = deletedRevision

type Changes = { text?: string; changedAtMs?: number }
const list = (version: number, { text = `v${version}`, changedAtMs = 1_000 }: Changes = {}): DocumentEntry => ({
  ...{ kind: 'submissions', id, version: version as Revision },
  content: { digest: `list ${text}` as ContentDigest, changedAtMs, isTombstone: version === deletion },
})
const problemOf = (document: DocumentEntry | undefined, ...records: RecordEntry[]): string | undefined =>
  judge('submissions', document, records)?.problem

test('a document is equal to the record with the highest committed revision', () => {
  expect(problemOf(list(3), record(1), record(3), record(2))).toBeUndefined()
  expect(problemOf(list(3, { text: 'other' }), record(3))).toBe('content')
  expect(problemOf(list(2), record(2), record(3))).toBe('older')
  expect(problemOf(list(4), record(3))).toBe('newer')
  expect(problemOf(undefined, record(3))).toBe('missing')
  expect(problemOf(list(3))).toBe('unexpected')
  expect(problemOf(undefined)).toBeUndefined()
})

test('a dead letter makes no document, and explains one whose record compaction has removed for it', () => {
  const deadLetter = record(0, { offset: 9n as Offset })
  expect(problemOf(list(5), deadLetter)).toBeUndefined()
  expect(problemOf(list(5), record(3), deadLetter)).toBeUndefined()
  expect(problemOf(undefined, deadLetter)).toBeUndefined()
  expect(problemOf(list(2), record(3), deadLetter)).toBe('older')
  expect(problemOf(undefined, record(3), deadLetter)).toBe('missing')
  expect(relevantOf([record(0), record(1), record(3), deadLetter])).toEqual([record(3), deadLetter])
})

test('a deletion is above every revision, and only the index remembers it for good', () => {
  expect(problemOf(list(deletion), record(3), record(deletion))).toBeUndefined()
  expect(problemOf(list(3), record(3), record(deletion))).toBe('older')
  expect(problemOf(undefined, record(deletion))).toBe('missing')
  expect(problemOf(list(deletion))).toBeUndefined()
  expect(problemOf(list(deletion), record(3))).toBe('newer')
})

test('an index may hold what was appended after the commits, or not yet', () => {
  const records = [record(3), record(4, later), record(6, later)]
  for (const version of [3, 4, 6]) expect(problemOf(list(version), ...records)).toBeUndefined()
  expect(problemOf(list(4, { text: 'other' }), ...records)).toBe('content')
  expect(problemOf(list(2), ...records)).toBe('older')
  expect(problemOf(list(7), ...records)).toBe('newer')
  // Its record was indexed and then removed by compaction, for there is a newer one.
  expect(problemOf(list(5), ...records)).toBeUndefined()
  expect(problemOf(undefined, record(1, later))).toBeUndefined()
})

test('of two records with one revision the first one must be indexed', () => {
  const records = [record(3, { text: 'b', offset: 7n as Offset }), record(3, { text: 'a', offset: 5n as Offset })]
  expect(problemOf(list(3, { text: 'a' }), ...records)).toBeUndefined()
  expect(problemOf(list(3, { text: 'b' }), ...records)).toBe('content')
  expect(problemOf(list(3, { text: 'c' }), ...records)).toBe('content')
})

test('a time of change is never before the append time of its record, but may be after it', () => {
  expect(problemOf(list(3, { changedAtMs: 999 }), record(3))).toBe('time')
  expect(problemOf(list(3, { changedAtMs: 5_000 }), record(3))).toBeUndefined()
  const twice = [record(3, { changedAtLeastMs: 900 }), record(3)]
  expect(problemOf(list(3, { changedAtMs: 950 }), ...twice)).toBeUndefined()
})

test('the kind of a difference says which document of the entity differs', () => {
  const problem = { problem: 'missing', detail: '' } as const
  expect(differenceKindOf('submissions', problem)).toBe('missing')
  expect(differenceKindOf('form-details', problem)).toBe('missing-detail')
})

test('records below a committed one do not matter', () => {
  const records = [record(1), record(2, later), record(4), record(5, later), record(4, { text: 'again' })]
  expect(relevantOf(records).map(({ version }) => version)).toEqual([4, 5, 4])
  expect(relevantOf([record(1, later)])).toHaveLength(1)
})
