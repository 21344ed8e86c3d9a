import type { IHeaders, Message } from 'kafkajs'
import type { Problem } from '../../src/core/model/result.ts'
import type { SourceRecord } from '../sourceRecord.ts'

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
  readonly headers: IHeaders
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
    deadLetteredAt: header('set-aside-at'),
    key,
    value,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(ownPrefix))),
  }
}

/** The record as first received, to be sent to its source topic again. */
export const replayMessage = ({ key, value, headers }: DeadLetter): Message => ({ key, value, headers })

const ownPrefix = 'tidemark.'

/** The headers of a dead letter: the record's own ones, with the reason and the source added. */
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
