import fc from 'fast-check'
import { projectRecord } from '../../../indexer/projectRecord.ts'
import type { SourceRecord } from '../../../src/core/kafka/sourceRecord.ts'
import type { Offset } from '../../../src/core/model/ids.ts'
import { formEntity, submissionEntity } from '../../support/entities.ts'

const topics = { TOPIC_FORMS: 'f', TOPIC_SUBMISSIONS: 's', TOPIC_ACCOUNT_KEYS: 'k' }
const changedAtMs = Date.parse('2026-05-01T00:00:00.000Z')
const recordOf = (topic: string, key: string, value: unknown): SourceRecord => ({
  topic,
  partition: 0,
  offset: 0n as Offset,
  appendedAtMs: 0,
  key: Buffer.from(key),
  value: value === null ? null : Buffer.from(JSON.stringify(value)),
  headers: {},
})

test('a form and a submission each ask for their two documents, under their revision', () => {
  expect(
    projectRecord(recordOf('f', 'acme/f1', { revision: 3, form: formEntity({ id: 'f1' }) }), changedAtMs, topics),
  ).toMatchObject({
    kind: 'documents',
    version: 3,
    documents: [{ kind: 'forms', version: 3 }, { kind: 'form-details' }],
  })
  const submission = { revision: 4, submission: submissionEntity({ id: 's1' }) }
  expect(projectRecord(recordOf('s', 'acme/s1', submission), changedAtMs, topics)).toMatchObject({
    kind: 'documents',
    version: 4,
    documents: [{ kind: 'submissions' }, { kind: 'submission-details', version: 4 }],
  })
})

test('the time of the change is kept with its document', () => {
  const projection = projectRecord(
    recordOf('f', 'acme/f1', { revision: 3, form: formEntity({ id: 'f1' }) }),
    changedAtMs,
    topics,
  )
  const [list] = projection.kind === 'documents' ? projection.documents : []
  expect(list?.source.toString()).toContain('"changedAt":"2026-05-01T00:00:00.000Z"')
})

test('a deletion asks for tombstones above every revision', () => {
  expect(projectRecord(recordOf('s', 'acme/s1', null), changedAtMs, topics)).toMatchObject({
    kind: 'documents',
    version: 2 ** 53 - 1,
  })
})

test('an account key asks for a change of the account-key store, a deleted one too', () => {
  expect(projectRecord(recordOf('k', 'acme/k1', null), changedAtMs, topics)).toEqual({
    kind: 'account-key',
    change: { teamId: 'acme', entityId: 'k1', revision: 2 ** 53 - 1, key: null },
  })
})

test('a record is judged by the topic it came from', () => {
  const form = { revision: 3, form: formEntity({ id: 'f1' }) }
  expect(projectRecord(recordOf('s', 'acme/f1', form), changedAtMs, topics)).toMatchObject({
    kind: 'invalid',
    problem: { path: 'submission' },
  })
  expect(projectRecord(recordOf('k', 'acme/f1', form), changedAtMs, topics)).toMatchObject({
    kind: 'invalid',
    problem: { path: 'key' },
  })
  expect(projectRecord(recordOf('x', 'acme/f1', form), changedAtMs, topics)).toMatchObject({
    kind: 'invalid',
    problem: { path: 'topic' },
  })
})

test('no bytes of any topic make it throw', () => {
  const bytes = fc.option(fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array)))
  fc.assert(
    fc.property(fc.constantFrom('f', 's', 'k', 'x'), bytes, bytes, (topic, key, value) => {
      const { kind } = projectRecord({ ...recordOf(topic, '', null), key, value }, changedAtMs, topics)
      expect(['documents', 'account-key', 'invalid']).toContain(kind)
    }),
  )
})
