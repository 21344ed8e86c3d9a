import type { IHeaders, Message, Producer } from 'kafkajs'
import type { Problem } from '../../src/core/model/result.ts'
import type { SourceRecord } from '../sourceRecord.ts'

/** Sets a record aside, byte for byte as received; headers say why and where from. Resolves once every replica has it. */
export type WriteDeadLetter = (record: SourceRecord, problem: Problem) => Promise<void>

/** A record that was set aside, as it came, with what its headers tell. */
export type DeadLetter = {
  readonly topic: string
  readonly partition: string
  readonly offset: string
  readonly path: string
  readonly reason: string
  readonly deadLetteredAt: string
  readonly key: Buffer | null
  readonly value: Buffer | null
  /** The record's own headers. */
  readonly headers: IHeaders
}

export function readDeadLetter({ key, value, headers }: SourceRecord): DeadLetter {
  const tells = (name: string): string => String(headers[`${ownPrefix}${name}`] ?? '')
  return {
    topic: tells('topic'),
    partition: tells('partition'),
    offset: tells('offset'),
    path: tells('path'),
    reason: tells('reason'),
    deadLetteredAt: tells('set-aside-at'),
    key,
    value,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(ownPrefix))),
  }
}

/** The record as it first came, to be sent to its topic again. */
export const replayOf = ({ key, value, headers }: DeadLetter): Message => ({ key, value, headers })

const ownPrefix = 'tidemark.'

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
  (producer: Producer, topic: string, clock: () => number): WriteDeadLetter =>
  async (record, problem) => {
    const headers = deadLetterHeaders(record, problem, new Date(clock()))
    await producer.send({ topic, acks: -1, messages: [{ key: record.key, value: record.value, headers }] })
  }
