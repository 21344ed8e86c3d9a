import {
  aliasOf,
  type DocumentKind,
  documentKinds,
  entityTypeOf,
  isList,
  kindsOf,
} from '../../src/core/elasticsearch/indices.ts'
import { partitionName } from '../../src/core/kafka/sourceRecord.ts'
import { gone } from '../model/journal.ts'
import { CursorKeys } from './cursorCheck.ts'
import type { Index } from './engines/elasticsearch/catalog.ts'
import type { SimulatedEngines } from './engines/engines.ts'
import type { DocumentTopic } from './history.ts'
import type { Appended, SimulatedJournal } from './journal.ts'
import { expectVersions, nameOf, PositionChecks, visibleIn } from './positionChecks.ts'
import type { System } from './system.ts'
import { Violation } from './world/world.ts'

const topics: readonly DocumentTopic[] = ['forms', 'submissions']

type Clocks = {
  /** Whether all clocks agree. */
  readonly clocksAgree: boolean
  /** By how much (ms) at most the clock of Redis is ahead in this history. */
  readonly redisAheadMs: number
}

/** Compares the engines' data with the journal at every commit and every published watermark. */
export class Checks {
  readonly #system: System
  readonly #engines: SimulatedEngines
  readonly #journal: SimulatedJournal
  readonly #clocks: Clocks
  #publishedMs = 0
  readonly #positions: PositionChecks
  readonly cursorKeys: CursorKeys

  constructor(system: System, journal: SimulatedJournal, clocks: Clocks) {
    this.#system = system
    this.#engines = system.engines
    this.#journal = journal
    this.#clocks = clocks
    this.#positions = new PositionChecks(system, journal, clocks.clocksAgree)
    this.cursorKeys = new CursorKeys(system)
  }

  /** Call after each request that an engine has carried out. */
  afterCall(engine: string, what: string): void {
    if (engine === 'kafka' && what.includes('OffsetCommit')) this.#expectCommittedIsVisible()
    if (engine !== 'redis' || !what.includes('eval')) return
    this.cursorKeys.collect()
    this.#expectWatermarkIsTrue()
    this.#positions.expectTrue()
  }

  /** Throws unless every committed record is visible in the serving generation, on every copy that may answer, or a dead letter. */
  #expectCommittedIsVisible(): void {
    const { CONSUMER_GROUP, TOPIC_DEAD_LETTERS } = this.#system.config
    const served = this.#servedNumber()
    const committed = new Map<string, bigint>()
    // A commit for another generation does not cover the serving one.
    for (const { topic, partition, offset, metadata } of this.#engines.simulatedKafka.committed(CONSUMER_GROUP))
      if (served !== undefined && metadata?.startsWith(`${served}-`))
        committed.set(partitionName({ topic, partition }), offset)
    // Records that Kafka has deleted may never have been read.
    const isCommitted = (record: Appended): boolean =>
      record.offset < (committed.get(partitionName(record)) ?? 0n) &&
      !this.#journal.forgottenKeys(record.topic).has(record.key)
    this.#expectVisible('what is committed is visible', isCommitted)
    const letters = new Set(
      this.#engines.simulatedKafka.log(TOPIC_DEAD_LETTERS).map(({ key, value }) => `${key} ${value}`),
    )
    for (const record of this.#journal.entries) {
      if (!isCommitted(record) || letters.has(`${record.key} ${record.value}`)) continue
      if (record.revision === undefined)
        throw new Violation('a record that breaks the contract is a dead letter before it is committed', nameOf(record))
      if (this.#journal.isRepeatedRevision(record))
        throw new Violation('a revision with another content is a dead letter before it is committed', nameOf(record))
    }
  }

  #expectWatermarkIsTrue(): void {
    const publishedMs = this.watermarkMs()
    if (publishedMs === undefined || publishedMs === this.#publishedMs) return
    this.#publishedMs = publishedMs
    if (publishedMs > this.#system.world.nowMs + this.#clocks.redisAheadMs)
      throw new Violation('no watermark is in the future', `it is at ${new Date(publishedMs).toISOString()}`)
    if (!this.#clocks.clocksAgree) return
    this.#expectVisible('the watermark is never above the truth', (record) => record.atMs < publishedMs)
  }

  /** The watermark of the serving generation (epoch ms); undefined while there is none. */
  watermarkMs(): number | undefined {
    const { simulatedRedis } = this.#engines
    const prefix = this.#system.config.INDEX_PREFIX
    const serving = simulatedRedis.text(`${prefix}:serving`)
    const committed = topics.map(
      (topic) => simulatedRedis.hash(`${prefix}:visible-positions:${topic}:${serving}`)['watermark'],
    )
    return committed.includes(undefined) ? undefined : Math.min(...committed.map(Number))
  }

  #expectVisible(invariant: string, applies: (record: Appended) => boolean): void {
    for (const topic of topics) {
      const expected = this.#journal.revisions(topic, applies)
      for (const kind of expected.size === 0 ? [] : kindsOf[topic])
        for (const [copy, visible] of this.#visible(kind).entries())
          expectVersions(visible, expected, (what) => new Violation(invariant, `${kind} on copy ${copy}: ${what}`))
    }
  }

  /** Throws unless every copy of the serving generation holds exactly the fold of the records. */
  expectFold(): void {
    const difference = this.#difference()
    if (difference !== undefined) throw new Violation('the documents are the fold of the records', difference())
  }

  /** Whether every record is visible. */
  isComplete(): boolean {
    return this.#difference() === undefined
  }

  /** Describes the first difference between documents and the fold of the records; undefined if none. */
  #difference(): (() => string) | undefined {
    const misled = documentKinds.find((kind) => this.#aliased(kind)[0] !== this.#served(kind)[0])
    if (misled !== undefined) return () => `the alias of ${misled} names another generation than Redis`
    for (const topic of topics) {
      const truth = this.#journal.revisions(topic)
      for (const kind of kindsOf[topic]) {
        const copies = this.#visible(kind)
        if (copies.length === 0) return () => `nothing serves ${kind}`
        for (const [copy, visible] of copies.entries())
          if (!areEqual(visible, truth))
            return () => `${kind}, copy ${copy}: ${described(visible)} instead of ${described(truth)}`
      }
    }
    return undefined
  }

  /** Per copy of the serving generation that answers: id → version. Missing documents of forgotten keys count as deleted. */
  #visible(kind: DocumentKind): readonly ReadonlyMap<string, number>[] {
    return visibleIn(this.#served(kind), this.#journal.forgottenKeys(entityTypeOf(kind)))
  }

  /** The index that Redis names, or else the read alias. */
  #served(kind: DocumentKind): readonly Index[] {
    const { simulatedRedis, simulatedElasticsearch } = this.#engines
    const prefix = this.#system.config.INDEX_PREFIX
    const serving = simulatedRedis.text(`${prefix}:serving`)
    const { index, details } = simulatedRedis.hash(`${prefix}:visible-positions:${entityTypeOf(kind)}:${serving}`)
    const named = simulatedElasticsearch.indicesOf((isList(kind) ? index : details) ?? '')
    return named.length > 0 ? named : this.#aliased(kind)
  }

  #aliased(kind: DocumentKind): readonly Index[] {
    return this.#engines.simulatedElasticsearch.indicesOf(aliasOf(this.#system.config.INDEX_PREFIX, kind))
  }

  #servedNumber(): string | undefined {
    const [index] = this.#served('forms')
    return index?.name.slice(index.name.lastIndexOf('-') + 1)
  }
}

const areEqual = (some: ReadonlyMap<string, number>, others: ReadonlyMap<string, number>): boolean =>
  some.size === others.size && [...some].every(([key, version]) => others.get(key) === version)

const described = (versions: ReadonlyMap<string, number>): string =>
  [...versions]
    .map(([key, version]) => `${key}@${version === gone ? 'deleted' : version}`)
    .sort()
    .join(' ')
