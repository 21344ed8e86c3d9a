import { convertRecord, type DocumentWrite, withNamesOnce } from '../../../../indexer/convertRecord.ts'
import { comparedOf, contentOf, storedContentOf } from '../../../../indexer/verify/compareDocuments.ts'
import { noHeaders } from '../../../../src/core/kafka/recordHeaders.ts'
import type { Offset } from '../../../../src/core/model/ids.ts'
import { opaque, submissionEntity } from '../../../support/entities.ts'

const topics = { TOPIC_FORMS: 'f', TOPIC_SUBMISSIONS: 's', TOPIC_ACCOUNT_KEYS: 'k', INDEX_ANSWERS: true }
const earlyMs = Date.parse('2026-05-01T00:00:00.000Z')
const lateMs = Date.parse('2026-05-02T00:00:00.000Z')

/** The list and the detail document of a submission, or of its deletion. */
function documentsOf(value: string | null, changedAtMs: number, at = 0n): readonly [DocumentWrite, DocumentWrite] {
  const record = { topic: 's', partition: 0, offset: at as Offset, appendedAtMs: 0, headers: noHeaders }
  const bytes = value === null ? null : Buffer.from(value)
  const projection = convertRecord(
    { ...record, appendedAtMs: changedAtMs, key: Buffer.from('acme/s1'), value: bytes },
    topics,
  )
  if (projection.kind !== 'documents') throw new Error('the record is not valid')
  const [list, detail] = projection.documents
  if (list === undefined || detail === undefined) throw new Error('a document is missing')
  return [list, detail]
}

const recordValue = (data: string): string =>
  JSON.stringify({ revision: 3, submission: { ...submissionEntity({ id: 's1' }), data: '@' } }).replace('"@"', data)

test('list documents and tombstones are compared without their time, which is compared separately', () => {
  for (const value of [recordValue(opaque), null])
    for (const at of [0, 1] as const) {
      const [early, late] = [earlyMs, lateMs].map((ms) => documentsOf(value, ms)[at])
      if (early === undefined || late === undefined) throw new Error('a document is missing')
      const [first, second] = [early, late].map(({ kind, source }) => contentOf(kind, source))
      expect(second?.digest).toEqual(first?.digest)
      const hasTime = value === null || at === 0
      expect([first?.changedAtMs, second?.changedAtMs]).toEqual(hasTime ? [earlyMs, lateMs] : [null, null])
      expect(first?.isTombstone).toBe(Number(value === null))
    }
})

test('list documents and tombstones are compared without their position, which documents of an earlier release lack', () => {
  for (const value of [recordValue(opaque), null]) {
    const [{ kind, source: first }] = documentsOf(value, earlyMs)
    const [{ source: second }] = documentsOf(value, earlyMs, 70n)
    const without = Buffer.from(first.toString().replace(/,"logPosition":\d+/, ''))
    const contents = [first, second, without].map((source) => contentOf(kind, source))
    expect(new Set([first, second, without].map(String)).size).toBe(3)
    expect(new Set(contents.map(({ digest }) => digest.toString('hex'))).size).toBe(1)
    // The first byte after the time: it is no position that is left out.
    const changed = Buffer.from(without.toString().replace('.000Z"', '.000Z!'))
    expect(contentOf(kind, changed).digest).not.toEqual(contents[0]?.digest)
  }
})

test('a stored document has the content of its record, also if the record repeats names', () => {
  for (const data of [opaque, '{"a":1,"a":2}'])
    for (const written of documentsOf(recordValue(data), earlyMs)) {
      const { kind, id, version } = written
      const source = withNamesOnce(written).source
      const stored = { id, version, source: source.toString(), fields: '', seqNo: 0 }
      expect(comparedOf(kind, stored)).toEqual({ kind, id, version, ...storedContentOf(written) })
    }
})

test('any other byte is another content, also in text that looks like a time of change', () => {
  const [, detail] = documentsOf(recordValue('{"changedAt":"2026-05-01T00:00:00.000Z"}'), earlyMs)
  const [, other] = documentsOf(recordValue('{"changedAt":"2026-05-02T00:00:00.000Z"}'), earlyMs)
  expect(contentOf(detail.kind, detail.source).digest).not.toEqual(contentOf(other.kind, other.source).digest)
  const [list] = documentsOf(recordValue(opaque), earlyMs)
  for (let at = 0; at < list.source.length; at += 7) {
    const changed = Buffer.from(list.source)
    changed[at] = (changed[at] ?? 0) ^ 1
    const [before, after] = [list.source, changed].map((source) => contentOf(list.kind, source))
    expect([after?.digest, after?.changedAtMs]).not.toEqual([before?.digest, before?.changedAtMs])
  }
})
