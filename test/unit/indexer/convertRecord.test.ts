import { convertRecord } from '../../../indexer/convertRecord.ts'
import type { SourceRecord } from '../../../src/core/kafka/sourceRecord.ts'
import type { Offset } from '../../../src/core/model/ids.ts'
import { formEntity } from '../../support/entities.ts'

const topics = { TOPIC_FORMS: 'f', TOPIC_SUBMISSIONS: 's' }
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

test.each([
  ['s', 'submission'],
  ['k', 'key'],
])('a record is judged by the topic it came from: %s', (topic, path) => {
  const form = recordOf(topic, 'acme/f1', { revision: 3, form: formEntity({ id: 'f1' }) })
  expect(convertRecord(form, changedAtMs, topics)).toMatchObject({ kind: 'rejected', problem: { path } })
})
