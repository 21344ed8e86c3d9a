import type { NewRecord } from '../../src/core/kafka/sink.ts'
import type { RecordHeaders, SourceRecord } from '../../src/core/kafka/sourceRecord.ts'
import type { Problem } from '../../src/core/model/result.ts'

/** A product changes an entity without raising its revision. */
export const sameRevision: Problem = { path: 'revision', rule: 'is stored already with another content' }

/** A record of the dead-letters topic: a rejected record as received, with the reason and the source from its headers. */
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
  readonly headers: RecordHeaders
}

/** Parses a record of the dead-letters topic. */
export function readDeadLetter({ key, value, headers }: SourceRecord): DeadLetter {
  const header = (name: string): string => String(headers[`${ownPrefix}${name}`] ?? '')
  return {
    topic: header('topic'),
    partition: header('partition'),
    offset: header('offset'),
    path: header('path'),
    reason: header('reason'),
    deadLetteredAt: header('dead-lettered-at'),
    key,
    value,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(ownPrefix))),
  }
}

/** The record as first received, to be appended to its source topic again. */
export const originalRecord = ({ topic, key, value, headers }: DeadLetter): NewRecord => ({
  topic,
  key,
  value,
  headers,
})

const ownPrefix = 'tidemark.'

/** The headers of a dead letter: the record's own ones, with the reason and the source added. */
export const deadLetterHeaders = (record: SourceRecord, problem: Problem, now: Date): RecordHeaders => ({
  ...record.headers,
  'tidemark.path': problem.path,
  'tidemark.reason': problem.rule,
  'tidemark.topic': record.topic,
  'tidemark.partition': String(record.partition),
  'tidemark.offset': String(record.offset),
  'tidemark.appended-at': new Date(record.appendedAtMs).toISOString(),
  'tidemark.dead-lettered-at': now.toISOString(),
})
