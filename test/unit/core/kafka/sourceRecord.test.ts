import type { KafkaMessage } from 'kafkajs'
import { sourceRecord } from '../../../../src/core/kafka/sourceRecord.ts'
import { toInstant } from '../../../../src/core/model/instant.ts'

const message = (changes: Partial<Record<keyof KafkaMessage, unknown>> = {}): KafkaMessage =>
  ({
    ...{ key: null, value: null, timestamp: '1700000000000', attributes: 0, offset: '7', headers: {} },
    ...changes,
  }) as KafkaMessage

test('a record tells its place, its bytes and its append time', () => {
  const [key, value] = [Buffer.from('acme/f1'), Buffer.from('{}')]
  expect(sourceRecord('forms', 3, message({ key, value, offset: '9007199254740993' }))).toEqual({
    ...{ topic: 'forms', partition: 3, offset: 9007199254740993n, appendedAtMs: 1_700_000_000_000 },
    ...{ key, value, headers: {} },
  })
})

test.each(['9223372036854775807', '-9223372036854775808', '253402300800000', '-62167219200001'])(
  'the append time %s, which a producer may set where the broker does not, becomes one that can be told',
  (timestamp) => {
    const { appendedAtMs } = sourceRecord('forms', 0, message({ timestamp }))
    expect(toInstant(appendedAtMs)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  },
)

test('a header without a value comes back empty: KafkaJS cannot write it otherwise, and would fail for ever', () => {
  const { headers } = sourceRecord('forms', 0, message({ headers: { a: null, b: [Buffer.from('x'), null] } }))
  expect(headers).toEqual({ a: [Buffer.alloc(0)], b: [Buffer.from('x'), Buffer.alloc(0)] })
})

test('a header named like a member of every object keeps its value alone', () => {
  const read = { toString: [Object.prototype.toString, Buffer.from('x')] }
  expect(Object.entries(sourceRecord('forms', 0, message({ headers: read })).headers)).toEqual([
    ['toString', [Buffer.from('x')]],
  ])
})
