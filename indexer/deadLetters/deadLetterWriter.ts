import type { Logger } from 'pino'
import type { KafkaSink } from '../../src/core/kafka/sink.ts'
import type { SourceRecord } from '../../src/core/kafka/sourceRecord.ts'
import type { Problem } from '../../src/core/model/result.ts'
import type { Config } from '../../src/core/process/config.ts'
import type { Retries } from '../backoff.ts'
import type { StartOffset } from '../committedOffsets.ts'
import { sourceTopics } from '../topics.ts'
import { Breaker } from './breaker.ts'
import { deadLetterHeaders } from './deadLetters.ts'

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

  /** Writes a record byte for byte as received; headers name the reason and the source. Resolves once every replica has it. */
  async write(record: SourceRecord, problem: Problem): Promise<void> {
    const { topic, partition, offset, key, value } = record
    const headers = deadLetterHeaders(record, problem, new Date())
    await this.#sink.append([{ topic: this.#topic, key, value, headers }])
    this.#log.warn({ topic, partition, offset: String(offset), path: problem.path }, 'dead letter written')
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
    await this.#retries.untilDone('writing a dead letter', () => this.write(record, problem), signal)
    return 'dead-letter'
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
