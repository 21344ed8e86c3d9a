import type { IHeaders, Producer } from 'kafkajs'
import type { Problem } from '../src/domain/result.ts'
import type { SourceRecord } from './sourceRecord.ts'

/** Sets a record aside, byte for byte as received; headers say why and where from. Resolves once every replica has it. */
export type SetAside = (record: SourceRecord, problem: Problem) => Promise<void>

/** Headers of a dead letter; the record's own headers stay beside them. */
export const deadLetterHeaders = (record: SourceRecord, problem: Problem, now: Date): IHeaders => ({
  ...record.headers,
  'tidemark.path': problem.path,
  'tidemark.reason': problem.rule,
  'tidemark.topic': record.topic,
  'tidemark.partition': String(record.partition),
  'tidemark.offset': String(record.offset),
  'tidemark.appended-at': new Date(record.appendedAtMs).toISOString(),
  'tidemark.set-aside-at': now.toISOString(),
})

export const deadLetters =
  (producer: Producer, topic: string, clock: () => number): SetAside =>
  async (record, problem) => {
    const headers = deadLetterHeaders(record, problem, new Date(clock()))
    await producer.send({ topic, acks: -1, messages: [{ key: record.key, value: record.value, headers }] })
  }
