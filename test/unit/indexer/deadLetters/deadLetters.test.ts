import { jest } from '@jest/globals'
import fc from 'fast-check'
import { pino } from 'pino'
import { assignPartition } from '../../../../indexer/assignedPartition.ts'
import { Retries } from '../../../../indexer/backoff.ts'
import { DeadLetterWriter, deadLetterHeaders, readDeadLetter } from '../../../../indexer/deadLetters/deadLetters.ts'
import { unreadLog } from '../../../../indexer/logReplacement.ts'
import { noHeaders, RecordHeaders } from '../../../../src/core/kafka/recordHeaders.ts'
import type { KafkaSink, NewRecord } from '../../../../src/core/kafka/sink.ts'
import type { SourceRecord } from '../../../../src/core/kafka/sourceRecord.ts'
import { toOffset } from '../../../../src/core/model/ids.ts'
import { passed, problemIn } from '../../../../src/core/monitoring/health.ts'
import { testConfig } from '../../../support/config.ts'
import { eventually } from '../../../support/eventually.ts'

const problem = { path: 'form.title', rule: 'is missing' }
const now = new Date('2026-11-21T12:00:00.000Z')
const config = testConfig({ ELASTICSEARCH_URL: 'http://127.0.0.1:1', REDIS_URL: 'redis://127.0.0.1:1' })

const record = (headers = noHeaders): SourceRecord => ({
  ...{ topic: config.TOPIC_FORMS, partition: 3, offset: toOffset('795'), appendedAtMs: 0, headers },
  ...{ key: Buffer.from('acme/f1'), value: Buffer.from('{}') },
})
const letterOf = (rejected: SourceRecord): SourceRecord => ({
  ...{ topic: 'dead-letters', partition: 0, offset: toOffset('7'), appendedAtMs: 1 },
  ...{ key: rejected.key, value: rejected.value, headers: deadLetterHeaders(rejected, problem, now) },
})

test('a dead letter has the reason and the source, and its replay has the original headers, whatever these are', () => {
  const names = ['tidemark.topic', 'tidemark.path', 'tidemark.offset', 'tidemark.other', '__proto__', 'a', '']
  const name = fc.oneof(
    fc.constantFrom(...names),
    fc.uint8Array({ maxLength: 40 }).map((each) => Buffer.from(each)),
  )
  const headers = fc
    .array(fc.tuple(name, fc.option(fc.string())), { maxLength: 12 })
    .map((each) => RecordHeaders.of(each))
  fc.assert(
    fc.property(headers, (own) => {
      const letter = readDeadLetter(letterOf(record(own)))
      expect(letter).toMatchObject({
        ...{ place: '0/7', topic: config.TOPIC_FORMS, partition: '3', offset: '795' },
        ...{ path: 'form.title', reason: 'is missing', deadLetteredAt: now.toISOString() },
      })
      expect(letter.headers).toEqual(own)
    }),
  )
})

test('a dead letter of a dead letter that was copied back with its headers names the copy as source, and keeps these headers', () => {
  const first = letterOf(record(RecordHeaders.of([['trace', 'x']])))
  const copied = { ...first, topic: config.TOPIC_FORMS, offset: toOffset('900') }
  const letter = readDeadLetter(letterOf(copied))
  expect(letter.offset).toBe('900')
  expect(letter.headers).toEqual(first.headers)
})

/** A writer whose appends do what `append` says. */
function setting(append: (records: readonly NewRecord[]) => Promise<void>) {
  const logged: { msg: string; err?: { message: string } }[] = []
  const log = pino({ level: 'warn' }, { write: (line) => logged.push(JSON.parse(line)) })
  const closing = new AbortController()
  const retries = new Retries(log, () => 0, closing.signal)
  const sink: KafkaSink = { append, disconnect: async () => undefined }
  const start = {
    position: toOffset('0'),
    deadLetteredBelow: toOffset('0'),
    coveredUntilMs: 0,
    promisedMs: 0,
    log: unreadLog,
  }
  const assigned = assignPartition({ topic: config.TOPIC_FORMS, partition: 3 }, start, () => 1)
  return { writer: new DeadLetterWriter({ sink, config, log, retries }), retries, assigned, logged }
}

test('a dead letter that Kafka refuses is reported with its record until it is written, and delays no other', async () => {
  let isTooLarge = true
  const sent: string[] = []
  const { writer, retries, assigned, logged } = setting(async ([letter]) => {
    if (isTooLarge && String(letter?.value) === '{}')
      throw new Error('The request included a message larger than the max')
    sent.push(String(letter?.value))
  })
  const stuck = writer.reject(record(), problem, assigned)
  expect(await writer.reject({ ...record(), value: Buffer.from('other') }, problem, assigned)).toBe('dead-letter')
  await eventually(() => logged.length > 2)
  const place = { topic: config.TOPIC_FORMS, partition: 3, offset: 795n }
  expect(writer.refused()).toEqual([{ ...place, reason: 'The request included a message larger than the max' }])
  const named = `writing the dead letter of ${config.TOPIC_FORMS}/3/795`
  expect(problemIn(retries.health())).toContain(`${named}: `)
  expect(logged.some(({ msg, err }) => msg.startsWith(named) && err?.message.includes('larger than the max'))).toBe(
    true,
  )
  isTooLarge = false
  expect(await stuck).toBe('dead-letter')
  expect(writer.refused()).toEqual([])
  expect(retries.health()).toEqual(passed)
  expect(sent).toEqual(['other', '{}'])
})

test('dead letters of a revoked partition are neither retried nor held by the breaker', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'performance'] })
  try {
    const { writer, assigned } = setting(async () => undefined)
    const all = Array.from({ length: 2_000 }, () => writer.reject(record(), problem, assigned))
    assigned.endAssignment()
    const outcomes = await Promise.all(all)
    expect(outcomes.filter((each) => each === 'stale').length).toBeGreaterThan(1_000)
  } finally {
    jest.useRealTimers()
  }
})
