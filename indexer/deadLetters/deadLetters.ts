import type { Logger } from 'pino'
import type { KafkaSink, NewRecord } from '../../src/core/kafka/sink.ts'
import type { RecordHeaders, SourceRecord } from '../../src/core/kafka/sourceRecord.ts'
import type { Problem } from '../../src/core/model/result.ts'
import type { Config } from '../../src/core/process/config.ts'
import type { Retries } from '../backoff.ts'
import type { StartOffset } from '../committedOffsets.ts'
import { sourceTopics } from '../topics.ts'
import { Breaker } from './breaker.ts'

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

/** Writes rejected records to the dead-letters topic, behind one breaker for each source topic. */
export class DeadLetterWriter {
  readonly #sink: KafkaSink
  readonly #topic: string
  readonly #log: Logger
  readonly #retries: Retries
  readonly #breakers: ReadonlyMap<string, Breaker>

  constructor(deps: { sink: KafkaSink; config: Config; log: Logger; retries: Retries }) {
    this.#sink = deps.sink
    this.#topic = deps.config.TOPIC_DEAD_LETTERS
    this.#log = deps.log
    this.#retries = deps.retries
    this.#breakers = new Map(sourceTopics(deps.config).map((topic) => [topic, new Breaker()]))
  }

  /** Writes an invalid record, once the breaker permits it, until that succeeds. `stale`: it was written before. */
  async reject(
    record: SourceRecord,
    problem: Problem,
    { deadLetteredBelow }: StartOffset,
    signal: AbortSignal,
  ): Promise<'dead-letter' | 'stale'> {
    if (record.offset < deadLetteredBelow) return 'stale'
    const breaker = this.#breakers.get(record.topic)
    breaker?.observe(true)
    await breaker?.acquirePermit(signal)
    await this.#retries.untilDone('writing a dead letter', () => this.#write(record, problem), signal)
    return 'dead-letter'
  }

  /** Writes a record byte for byte as received; headers name the reason and the source. Resolves once every replica has it. */
  async #write(record: SourceRecord, problem: Problem): Promise<void> {
    const { topic, partition, offset, key, value } = record
    const headers = deadLetterHeaders(record, problem, new Date())
    await this.#sink.append([{ topic: this.#topic, key, value, headers }])
    this.#log.warn({ topic, partition, offset: String(offset), path: problem.path }, 'dead letter written')
  }

  /** Tells the breaker of the record's topic that the record was not rejected. */
  recordAccepted({ topic }: SourceRecord): void {
    this.#breakers.get(topic)?.observe(false)
  }

  /** Names the topics whose breaker is open; undefined when none is. */
  blockedReason(): string | undefined {
    const open = [...this.#breakers].flatMap(([topic, { isOpen }]) => (isOpen ? [topic] : []))
    return open.length > 0
      ? `nearly all records of ${open.join(', ')} are rejected; their dead letters are paused`
      : undefined
  }

  /** Writes no more paused records. */
  stop(): void {
    for (const breaker of this.#breakers.values()) breaker.stop()
  }
}
