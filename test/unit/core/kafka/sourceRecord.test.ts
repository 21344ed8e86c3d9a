import type { FetchedRecord } from '../../../../src/core/kafka/recordBatches.ts'
import { noHeaders, RecordHeaders } from '../../../../src/core/kafka/recordHeaders.ts'
import { copiedOut, sourceRecord } from '../../../../src/core/kafka/sourceRecord.ts'
import { toInstant } from '../../../../src/core/model/instant.ts'

const message = (changes: Partial<FetchedRecord> = {}): FetchedRecord => ({
  ...{ key: null, value: null, timestamp: '1700000000000', offset: '7', headers: noHeaders, isControlRecord: false },
  ...changes,
})

test('a record has its partition, offset, bytes and append time', () => {
  const [key, value] = [Buffer.from('acme/f1'), Buffer.from('{}')]
  expect(sourceRecord('forms', 3, message({ key, value, offset: '9007199254740993' }))).toEqual({
    ...{ topic: 'forms', partition: 3, offset: 9007199254740993n, appendedAtMs: 1_700_000_000_000 },
    ...{ key, value, headers: noHeaders },
  })
})

test.each(['9223372036854775807', '-9223372036854775808', '253402300800000', '-62167219200001'])(
  'the append time %s, which a producer may set without LogAppendTime, becomes a valid instant',
  (timestamp) => {
    const { appendedAtMs } = sourceRecord('forms', 0, message({ timestamp }))
    expect(toInstant(appendedAtMs)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  },
)

test('a copied record is equal, and keeps nothing of its fetch in memory', () => {
  const fetched = Buffer.alloc(8 * 1024 * 1024, 'x')
  const headers = RecordHeaders.of([['__proto__', null]])
  const [key, value] = [fetched.subarray(5, 9), fetched.subarray(100, 1_100)]
  const record = sourceRecord('forms', 3, message({ key, value, headers }))
  const copied = copiedOut(record)
  expect(copied).toEqual(record)
  expect(copied.value?.buffer.byteLength).toBe(4 + 1_000 + headers.bytes.length)
  const empty = sourceRecord('forms', 3, message({ key: Buffer.alloc(0) }))
  expect(copiedOut(empty)).toEqual(empty)
})
