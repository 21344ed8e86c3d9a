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
const letterHeaderNames = ['path', 'reason', 'topic', 'partition', 'offset', 'appended-at', 'dead-lettered-at'] as const
type LetterHeader = (typeof letterHeaderNames)[number]

/** A record that was copied from a dead letter already has such headers, so the last of each name counts. */
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

/** A rejected record, with reason and source from the headers of its dead letter. */
export type DeadLetter = {
  /** Partition and offset of the dead letter, such as `0/17`. */
  readonly place: string
  /** The topic, partition and offset of the rejected record. */
  readonly topic: string
  readonly partition: string
  readonly offset: string
  /** The member that breaks the contract, such as `form.title`. */
  readonly path: string
  readonly reason: string
  readonly deadLetteredAt: string
  readonly key: Buffer | null
  readonly value: Buffer | null
  /** The headers of the record itself. */
  readonly headers: RecordHeaders
}

/** A missing header becomes an empty text. */
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
  const lastHeaders = new Map<LetterHeader, RecordHeader>()
  const names = new Map<string, LetterHeader>(letterHeaderNames.map((name) => [headerPrefix + name, name]))
  for (const header of headers) {
    // A longer name matches none, and is not decoded.
    if (header.name.length > longestNameBytes) continue
    const name = names.get(header.name.toString('latin1'))
    if (name !== undefined) lastHeaders.set(name, header)
  }
  return lastHeaders
}

const longestNameBytes = headerPrefix.length + Math.max(...letterHeaderNames.map((name) => name.length))

type DeadLetterDeps = {
  readonly sink: KafkaSink
  readonly config: Config
  readonly log: Logger
  readonly retries: Retries
}

/** A record whose dead letter Kafka has refused: its partition waits. */
export type RefusedLetter = Pick<SourceRecord, 'topic' | 'partition' | 'offset'> & { readonly reason: string }

type Assignment = Pick<AssignedPartition, 'start' | 'assignmentEnd'>

/** Writes dead letters. A breaker for each source topic may pause them. */
export class DeadLetterWriter {
  readonly #deps: DeadLetterDeps
  readonly #breakers: ReadonlyMap<string, Breaker>
  readonly #refused = new Map<SourceRecord, RefusedLetter>()

  constructor(deps: DeadLetterDeps) {
    this.#deps = deps
    this.#breakers = new Map(sourceTopics(deps.config).map((topic) => [topic, new Breaker()]))
  }

  /**
   * Writes the dead letter of a record, byte for byte, once the breaker allows it; retries until Kafka accepts it. Resolves with `stale` if it was written
   * before (`start.deadLetteredBelow`), or the partition is reassigned: the next owner reads the record again.
   */
  async reject(
    record: SourceRecord,
    problem: Problem,
    { start, assignmentEnd }: Assignment,
  ): Promise<'dead-letter' | 'stale'> {
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
      await breaker?.untilAllowed(assignmentEnd)
      // The name is logged, so that the operator finds the record.
      await retries.untilDone(`writing the dead letter of ${partitionName(record)}/${offset}`, write, assignmentEnd)
    } catch (error) {
      if (!assignmentEnd.aborted) throw error
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

  /** Fails while the dead letters of a topic are paused. */
  health(): CheckOutcome {
    const pausedTopics = this.pausedTopics()
    return pausedTopics.length > 0
      ? failed(`nearly all records of ${pausedTopics.join(', ')} are rejected; their dead letters are paused`)
      : passed
  }
}
