import type { Logger } from 'pino'
import type { KafkaSink } from '../../src/core/kafka/sink.ts'
import type { RecordHeaders, SourceRecord } from '../../src/core/kafka/sourceRecord.ts'
import type { Problem } from '../../src/core/model/schema.ts'
import type { Config } from '../../src/core/process/config.ts'
import type { Retries } from '../backoff.ts'
import type { StartOffset } from '../startOffsets.ts'
import { sourceTopics } from '../topics.ts'
import { Breaker } from './breaker.ts'

/** A product changes an entity without raising its revision. */
export const sameRevision: Problem = { path: 'revision', rule: 'is stored already with another content' }

const prefix = 'tidemark.'

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

/** A rejected record as received, with the reason and the source from its headers. */
export type DeadLetter = ReturnType<typeof readDeadLetter>

export function readDeadLetter({ partition, offset, key, value, headers }: SourceRecord) {
  const header = (name: string): string => String(headers[`${prefix}${name}`] ?? '')
  return {
    /** Where it is in the dead-letters topic. */
    place: `${partition}/${offset}`,
    topic: header('topic'),
    partition: header('partition'),
    offset: header('offset'),
    path: header('path'),
    reason: header('reason'),
    deadLetteredAt: header('dead-lettered-at'),
    key,
    value,
    /** The record's own headers. */
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(prefix))),
  }
}

type DeadLetterDeps = {
  readonly sink: KafkaSink
  readonly config: Config
  readonly log: Logger
  readonly retries: Retries
}

/** Writes rejected records to the dead-letters topic, behind one breaker for each source topic. */
export class DeadLetterWriter {
  readonly #deps: DeadLetterDeps
  readonly #breakers: ReadonlyMap<string, Breaker>

  constructor(deps: DeadLetterDeps) {
    this.#deps = deps
    this.#breakers = new Map(sourceTopics(deps.config).map((topic) => [topic, new Breaker()]))
  }

  /**
   * Writes a rejected record byte for byte as received, once the breaker permits it, until that succeeds. `stale`: it was written before, or its
   * partition is not `isAssigned` any more: whoever has it now reads the record again, and may accept it.
   */
  async reject(
    record: SourceRecord,
    problem: Problem,
    { deadLetteredBelow }: StartOffset,
    isAssigned: () => boolean,
    signal: AbortSignal,
  ) {
    const { sink, config, log, retries } = this.#deps
    const { topic, partition, offset, key, value } = record
    if (offset < deadLetteredBelow) return 'stale'
    const breaker = this.#breakers.get(topic)
    breaker?.observe(true)
    await breaker?.acquirePermit(signal)
    const write = async (): Promise<boolean> => {
      if (!isAssigned()) return false
      const headers = deadLetterHeaders(record, problem, new Date())
      await sink.append([{ topic: config.TOPIC_DEAD_LETTERS, key, value, headers }])
      return true
    }
    if (!(await retries.untilDone('writing a dead letter', write, signal))) return 'stale'
    log.warn({ topic, partition, offset: String(offset), path: problem.path }, 'dead letter written')
    return 'dead-letter'
  }

  /** Tells the breaker of the record's topic that the record was not rejected. */
  recordAccepted({ topic }: SourceRecord): void {
    this.#breakers.get(topic)?.observe(false)
  }

  /** Whether the breaker of a topic is open. */
  isPaused(topic: string): boolean {
    return this.#breakers.get(topic)?.isOpen ?? false
  }

  /** Names the topics whose breaker is open; undefined when none is. */
  blockedReason(): string | undefined {
    const open = [...this.#breakers].flatMap(([topic, { isOpen }]) => (isOpen ? [topic] : []))
    return open.length > 0
      ? `nearly all records of ${open.join(', ')} are rejected; their dead letters are paused`
      : undefined
  }
}
