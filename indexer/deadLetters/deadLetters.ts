import type { Logger } from 'pino'
import type { Config } from '../../src/core/config/config.ts'
import { type RecordHeader, RecordHeaders } from '../../src/core/kafka/recordHeaders.ts'
import type { KafkaSink } from '../../src/core/kafka/sink.ts'
import { partitionName, type SourceRecord } from '../../src/core/kafka/sourceRecord.ts'
import type { Problem } from '../../src/core/model/schema.ts'
import { type CheckOutcome, failed, passed } from '../../src/core/monitoring/health.ts'
import { summaryOf } from '../../src/core/monitoring/log.ts'
import type { AssignedPartition } from '../assignedPartition.ts'
import type { Retries } from '../backoff.ts'
import { sourceTopics } from '../topics.ts'
import { Breaker } from './breaker.ts'

/** The product has changed an entity without a new revision. */
export const sameRevision: Problem = { path: 'revision', rule: 'is stored already with another content' }

const headerPrefix = 'tidemark.'

/** The record's own headers, then reason and source. A record copied from the dead letters has such headers already: the last header of each name counts. */
export const deadLetterHeaders = (record: SourceRecord, problem: Problem, now: Date): RecordHeaders =>
  record.headers.followedBy(
    RecordHeaders.of(
      Object.entries({
        path: problem.path,
        reason: problem.rule,
        topic: record.topic,
        partition: String(record.partition),
        offset: String(record.offset),
        'appended-at': new Date(record.appendedAtMs).toISOString(),
        'dead-lettered-at': now.toISOString(),
      } satisfies Record<LetterHeader, string>).map(([name, value]) => [headerPrefix + name, value]),
    ),
  )

const letterHeaderNames = ['path', 'reason', 'topic', 'partition', 'offset', 'appended-at', 'dead-lettered-at'] as const
type LetterHeader = (typeof letterHeaderNames)[number]

/** A rejected record as received, with the reason and the source from the headers of its dead letter. */
export type DeadLetter = {
  /** Partition and offset of the dead letter. */
  readonly place: string
  readonly topic: string
  readonly partition: string
  readonly offset: string
  readonly path: string
  readonly reason: string
  readonly deadLetteredAt: string
  readonly key: Buffer | null
  readonly value: Buffer | null
  /** The headers of the record itself. */
  readonly headers: RecordHeaders
}

export function readDeadLetter({ partition, offset, key, value, headers }: SourceRecord): DeadLetter {
  const letterHeaders = lastLetterHeaders(headers)
  const header = (name: LetterHeader): string => String(letterHeaders.get(name)?.value ?? '')
  return {
    place: `${partition}/${offset}`,
    topic: header('topic'),
    partition: header('partition'),
    offset: header('offset'),
    path: header('path'),
    reason: header('reason'),
    deadLetteredAt: header('dead-lettered-at'),
    key,
    value,
    headers: headers.without([...letterHeaders.values()]),
  }
}

function lastLetterHeaders(headers: RecordHeaders): Map<LetterHeader, RecordHeader> {
  const last = new Map<LetterHeader, RecordHeader>()
  const names = new Map<string, LetterHeader>(letterHeaderNames.map((name) => [headerPrefix + name, name]))
  for (const header of headers) {
    // Longer names cannot match, and are not decoded.
    const name = header.name.length > longestName ? undefined : names.get(header.name.toString('latin1'))
    if (name !== undefined) last.set(name, header)
  }
  return last
}

const longestName = headerPrefix.length + Math.max(...letterHeaderNames.map((name) => name.length))

type DeadLetterDeps = {
  readonly sink: KafkaSink
  readonly config: Config
  readonly log: Logger
  readonly retries: Retries
}

/** A record whose dead letter Kafka has refused: it waits, and its partition with it. */
export type RefusedLetter = Pick<SourceRecord, 'topic' | 'partition' | 'offset'> & { readonly reason: string }

type Assignment = Pick<AssignedPartition, 'start' | 'left'>

export class DeadLetterWriter {
  readonly #deps: DeadLetterDeps
  readonly #breakers: ReadonlyMap<string, Breaker>
  readonly #refused = new Map<SourceRecord, RefusedLetter>()

  constructor(deps: DeadLetterDeps) {
    this.#deps = deps
    this.#breakers = new Map(sourceTopics(deps.config).map((topic) => [topic, new Breaker()]))
  }

  /**
   * Writes the dead letter of a record, byte for byte, once the breaker allows it; retries until Kafka accepts it. Resolves with `stale` if the dead letter was
   * written before, or once the partition is reassigned (`left`): the next owner reads the record again, and may accept it.
   */
  async reject(record: SourceRecord, problem: Problem, { start, left }: Assignment): Promise<'dead-letter' | 'stale'> {
    const { sink, config, log, retries } = this.#deps
    const { topic, partition, offset, key, value } = record
    if (offset < start.deadLetteredBelow) return 'stale'
    const breaker = this.#breakers.get(topic)
    breaker?.observe('rejected')
    const write = async (): Promise<void> => {
      const headers = deadLetterHeaders(record, problem, new Date())
      await sink.append([{ topic: config.TOPIC_DEAD_LETTERS, key, value, headers }]).catch((error: unknown) => {
        this.#refused.set(record, { topic, partition, offset, reason: summaryOf(error) })
        throw error
      })
    }
    try {
      await breaker?.untilAllowed(left)
      // Retried for ever, so that no record is lost. The name of the step is logged: it shows the operator the record.
      await retries.untilDone(`writing the dead letter of ${partitionName(record)}/${offset}`, write, left)
    } catch (error) {
      if (!left.aborted) throw error
      return 'stale'
    } finally {
      this.#refused.delete(record)
    }
    log.warn({ topic, partition, offset: String(offset), path: problem.path }, 'dead letter written')
    return 'dead-letter'
  }

  noteAccepted({ topic }: SourceRecord): void {
    this.#breakers.get(topic)?.observe('accepted')
  }

  /** Of each partition, the first record whose dead letter is refused. */
  refused(): readonly RefusedLetter[] {
    const byPartition = Map.groupBy(this.#refused.values(), partitionName)
    return [...byPartition.values()].flatMap(
      (letters) => letters.toSorted((a, b) => Number(a.offset - b.offset))[0] ?? [],
    )
  }

  isPaused(topic: string): boolean {
    return this.#breakers.get(topic)?.isOpen ?? false
  }

  pausedTopics(): readonly string[] {
    return [...this.#breakers].flatMap(([topic, { isOpen }]) => (isOpen ? [topic] : []))
  }

  health(): CheckOutcome {
    const open = this.pausedTopics()
    return open.length > 0
      ? failed(`nearly all records of ${open.join(', ')} are rejected; their dead letters are paused`)
      : passed
  }
}
