import type { ComparedDocument, ComparedRecord } from '../../../../indexer/verify/compareDocuments.ts'
import { DocumentComparison, deadLetterVersion } from '../../../../indexer/verify/compareDocuments.ts'
import type { Difference, DifferenceKind } from '../../../../indexer/verify/differenceReport.ts'
import { type DocumentId, deletedRevision, type Offset, type Revision } from '../../../../src/core/model/ids.ts'

const id = 'acme/s1' as DocumentId
const digest = (text: string): Buffer<ArrayBuffer> => Buffer.from(text.padEnd(16))

let nextOffset = 0n
const record = (version: number, changes: Partial<ComparedRecord> & { text?: string } = {}): ComparedRecord => {
  const { text = `v${version}`, ...others } = changes
  return {
    ...{ type: 'submissions', id, version: version as Revision, partition: 0, offset: nextOffset++ as Offset },
    ...{ changedAtLeastMs: 1_000, isCommitted: 1 },
    ...{ list: digest(`list ${text}`), detail: digest(`detail ${text}`) },
    ...others,
  }
}
const deadLetter = (): ComparedRecord => record(deadLetterVersion, { list: null, detail: null })
const later = { isCommitted: 0 }
const deletion = deletedRevision

type Changes = { text?: string; changedAtMs?: number }
const list = (version: number, { text = `v${version}`, changedAtMs = 1_000 }: Changes = {}): ComparedDocument => ({
  ...{ kind: 'submissions', id, version: version as Revision, digest: digest(`list ${text}`), changedAtMs },
  isTombstone: Number(version === deletion),
})

let comparison: DocumentComparison
beforeEach(() => {
  comparison = new DocumentComparison()
})
afterEach(() => comparison.close())

/** What differs, in the order of kinds and ids. */
const differences = (of = comparison) => [...of.differences()].flatMap(({ mismatches }) => mismatches)
const problems = (): string[] => differences().map(({ where, kind }) => `${where} ${kind}`)

type Found = ComparedDocument | undefined

/** How a list document differs from the records of its entity, which are in the order of their offsets. */
function differenceOf(document: Found, ...records: ComparedRecord[]): Difference | undefined {
  const only = new DocumentComparison()
  try {
    if (document !== undefined) only.setDocument(document)
    for (const each of records) only.addRecord(each)
    return differences(only).find(({ where }) => where === 'submissions')
  } finally {
    only.close()
  }
}

/** What is wrong with a list document. */
const problemOf = (document: Found, ...records: ComparedRecord[]): DifferenceKind | undefined =>
  differenceOf(document, ...records)?.kind

test('a document is equal to the record with the highest committed revision', () => {
  expect(problemOf(list(3), record(1), record(3), record(2))).toBeUndefined()
  expect(problemOf(list(3, { text: 'other' }), record(3))).toBe('content')
  expect(problemOf(list(2), record(2), record(3))).toBe('older')
  expect(problemOf(list(4), record(3))).toBe('newer')
  expect(problemOf(undefined, record(3))).toBe('missing')
  expect(problemOf(list(3))).toBe('unexpected')
  expect(problemOf(undefined)).toBeUndefined()
})

test('a difference names the state in the index and the state in the topic', () => {
  const detailOf = (document: Found, ...records: ComparedRecord[]) => differenceOf(document, ...records)?.detail
  expect(detailOf(undefined, record(2), record(3))).toBe('revision 3 in the topic')
  expect(detailOf(undefined, record(deletion))).toBe('a deletion in the topic')
  expect(detailOf(list(3))).toBe('revision 3 in the index, no record in the topic')
  expect(detailOf(list(2), record(3))).toBe('revision 2 in the index, revision 3 in the topic')
  expect(detailOf(list(deletion), record(3))).toBe('a deletion in the index, revision 3 in the topic')
  expect(detailOf(list(3, { text: 'other' }), record(3))).toBe('revision 3 has other bytes than its record')
  const early = detailOf(list(3, { changedAtMs: 999 }), record(3))
  expect(early).toBe('1970-01-01T00:00:00.999Z, before 1970-01-01T00:00:01.000Z, when its record was appended')
})

test('a dead letter makes no document, and explains a document whose record compaction removed in its favour', () => {
  expect(problemOf(list(5), deadLetter())).toBeUndefined()
  expect(problemOf(list(5), record(3), deadLetter())).toBeUndefined()
  expect(problemOf(undefined, deadLetter())).toBeUndefined()
  expect(problemOf(list(2), record(3), deadLetter())).toBe('older')
  expect(problemOf(undefined, record(3), deadLetter())).toBe('missing')
})

test('a deletion is above every revision, and the index may still have it when the topic does not', () => {
  expect(problemOf(list(deletion), record(3), record(deletion))).toBeUndefined()
  expect(problemOf(list(3), record(3), record(deletion))).toBe('older')
  expect(problemOf(undefined, record(deletion))).toBe('missing')
  expect(problemOf(list(deletion))).toBeUndefined()
  expect(problemOf(list(deletion), record(3))).toBe('newer')
})

test('an index may have records that were appended after the commits, or not yet', () => {
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
  const records = [record(3, { text: 'a' }), record(3, { text: 'b' })].toReversed()
  expect(problemOf(list(3, { text: 'a' }), ...records)).toBeUndefined()
  expect(problemOf(list(3, { text: 'b' }), ...records)).toBe('content')
  expect(problemOf(list(3, { text: 'c' }), ...records)).toBe('content')
})

test('a time of change is never before the append time of its record, but may be after it', () => {
  expect(problemOf(list(3, { changedAtMs: 999 }), record(3))).toBe('time')
  expect(problemOf(list(3, { changedAtMs: 5_000 }), record(3))).toBeUndefined()
  const twice = [record(3, { changedAtLeastMs: 900 }), record(3)]
  expect(problemOf(list(3, { changedAtMs: 950 }), ...twice)).toBeUndefined()
  const unknown = record(3, { changedAtLeastMs: Number.NEGATIVE_INFINITY })
  expect(problemOf(list(3, { changedAtMs: 1 }), unknown)).toBeUndefined()
})

test('offsets, revisions and ids of any size are compared exactly', () => {
  const large = 2n ** 62n
  const twice = [
    record(2 ** 53 - 2, { text: 'b', offset: (large + 1n) as Offset }),
    record(2 ** 53 - 2, { text: 'a', offset: large as Offset }),
  ]
  expect(problemOf(list(2 ** 53 - 2, { text: 'a' }), ...twice)).toBeUndefined()
  expect(problemOf(list(2 ** 53 - 3), ...twice)).toBe('older')
  // Whoever writes to Elasticsearch may choose any version and any id.
  expect(problemOf(list(2 ** 63), ...twice)).toBe('newer')
  expect(problemOf({ ...list(1), id: 'no slash, ü\u{1f600}\0' as DocumentId })).toBe('unexpected')
  expect(problemOf({ ...list(1), id: '!' as DocumentId })).toBe('unexpected')
})

test('forms and submissions of one id, and list and detail documents, are compared separately', () => {
  // Two topics have the same offsets.
  comparison.addRecord(record(3, { offset: 7n as Offset }))
  comparison.addRecord(record(5, { type: 'forms', offset: 7n as Offset }))
  for (const kind of ['forms', 'form-details', 'submissions', 'submission-details'] as const)
    comparison.setDocument({ ...list(kind.startsWith('form') ? 5 : 3, { text: 'other' }), kind })
  comparison.setDocument({ ...list(3), kind: 'submission-details', digest: digest('detail v3') })
  expect(problems()).toEqual(['forms content', 'form-details content-detail', 'submissions content'])
  comparison.markDeadLetter('forms', id, '0', '7')
  expect(problems()).toEqual(['submissions content'])
})

test('every document is compared once, and a suspect by its latest state', () => {
  // As many as fill their pages.
  const count = 1_000
  const name = (at: number): DocumentId => `acme/${at}` as DocumentId
  for (let at = 0; at < count; at++) {
    // One in three lacks its document, and one in three its record.
    if (at % 3 !== 0) comparison.addRecord(record(1, { id: name(at) }))
    if (at % 3 !== 1) comparison.setDocument({ ...list(1), id: name(at) })
  }
  expect([comparison.count('documents'), comparison.count('records')]).toEqual([667, 666])
  const found = differences().filter(({ where }) => where === 'submissions')
  expect(new Set(found.map((each) => each.id)).size).toBe(667)
  expect(found).toHaveLength(667)
  for (const { id: of, kind } of found) expect([of, kind]).toEqual([of, expectedProblem(of)])
  for (const { id: of, kind } of found) {
    if (kind === 'missing') comparison.setDocument({ ...list(1), id: of })
    else comparison.addRecord(record(1, { id: of }))
  }
  expect(differences().filter(({ where }) => where === 'submissions')).toEqual([])
})
const expectedProblem = (id: string): DifferenceKind => (Number(id.split('/')[1]) % 3 === 1 ? 'missing' : 'unexpected')
