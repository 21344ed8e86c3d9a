import { entityTypes } from '../../src/core/model/ids.ts'
import { gone } from '../model/journal.ts'
import type { Index } from './engines/elasticsearch/catalog.ts'
import { isReachable } from './engines/elasticsearch/shard.ts'
import type { DocumentTopic } from './history.ts'
import type { Appended, SimulatedJournal } from './journal.ts'
import type { System } from './system.ts'
import { Violation } from './world/world.ts'

export type Published = Readonly<Record<string, string>>

/** Compares the visible positions of each generation in Redis with the documents that its indices show. */
export class PositionChecks {
  readonly #system: System
  readonly #journal: SimulatedJournal
  readonly #clocksAgree: boolean
  /** Generation → the published positions at the last successful check. */
  readonly #foundTrue = new Map<string, string>()
  /** Generation and index name → the index at the first publication. */
  readonly #uuids = new Map<string, string>()

  constructor(system: System, journal: SimulatedJournal, clocksAgree: boolean) {
    this.#system = system
    this.#journal = journal
    this.#clocksAgree = clocksAgree
  }

  /** Throws unless every generation shows, on every copy that may answer, every record below its visible positions in Redis. */
  expectTrue(): void {
    const { engines, config } = this.#system
    for (const topic of entityTypes)
      for (const name of engines.simulatedRedis.namesWith(`${config.INDEX_PREFIX}:visible-positions:${topic}:`)) {
        const published = engines.simulatedRedis.hash(name)
        const indices = this.#indicesOf(name, published)
        const serves = name.endsWith(`:${engines.simulatedRedis.text(`${config.INDEX_PREFIX}:serving`)}`)
        const text = JSON.stringify([published, indices.length, serves])
        // A generation that may lack deletions promises nothing.
        if (this.#foundTrue.get(name) === text || published['withheld'] !== undefined) continue
        this.#foundTrue.set(name, text)
        const expected = this.#expectedVersions(topic, published, serves)
        this.#expectVisible(topic, name, expected, indices)
        if (this.#clocksAgree) this.#expectTimes(topic, name, published)
      }
  }

  /** The indices of a generation that still exist. An index of the same name that was created or restored later belongs to another generation. */
  #indicesOf(name: string, published: Published): readonly Index[] {
    const named = [published['index'], published['details']].flatMap((names) =>
      this.#system.engines.simulatedElasticsearch.indicesOf(names ?? ''),
    )
    return named.filter(({ name: index, uuid }) => {
      const first = this.#uuids.get(`${name} ${index}`) ?? uuid
      this.#uuids.set(`${name} ${index}`, first)
      return first === uuid
    })
  }

  /**
   * The versions that a generation must show: key → revision. Example: f2 is deleted, a late revision 2 is appended, and compaction keeps only
   * revision 2. A rebuild reads f2 as a form, publishes its position, and copies the deletion from the serving generation before it
   * switches. So until the switch it must show only the records that the log still has.
   */
  #expectedVersions(topic: DocumentTopic, published: Published, serves: boolean): Map<string, number> {
    const log = new Set(this.#system.engines.simulatedKafka.log(topic).map(nameOf))
    return this.#journal.revisions(
      topic,
      (record) => record.offset < positionOf(published, record) && (serves || log.has(nameOf(record))),
    )
  }

  #expectVisible(topic: DocumentTopic, name: string, expected: Map<string, number>, indices: readonly Index[]): void {
    // Kafka may have removed a deletion before the generation was built; then the generation has no document of it.
    const deleted = new Map([...expected].filter(([, version]) => version === gone))
    for (const key of deleted.keys()) expected.delete(key)
    for (const index of indices)
      for (const [copy, visible] of visibleIn([index], this.#journal.forgottenKeys(topic)).entries()) {
        const violation = (what: string) =>
          new Violation('what is published as visible is visible', `${name}, ${index.name} on copy ${copy}: ${what}`)
        expectVersions(visible, expected, violation)
        for (const key of deleted.keys())
          if ((visible.get(key) ?? gone) < gone) throw violation(`${key} is not deleted`)
      }
  }

  #expectTimes(topic: DocumentTopic, name: string, published: Published): void {
    const late = this.#journal.entries.find(
      (record) =>
        record.topic === topic &&
        record.offset >= positionOf(published, record) &&
        record.atMs < Number(published[`${record.partition}@`] ?? 0),
    )
    if (late !== undefined)
      throw new Violation('a position lies above all that was appended before its time', `${name}: ${nameOf(late)} was`)
  }
}

/** The offset below which everything of a record's partition was published as visible. */
export const positionOf = (published: Published, { partition }: Appended): bigint => BigInt(published[partition] ?? 0)

/** For each copy of these indices that answers: id → version. Missing documents of `forgotten` keys count as deleted. */
export function visibleIn(
  indices: readonly Index[],
  forgotten: ReadonlySet<string>,
): readonly ReadonlyMap<string, number>[] {
  const shards = indices.flatMap((index) => index.shards)
  return (shards[0]?.copies ?? []).flatMap((_, node) => {
    const copies = shards.flatMap((shard) => shard.copies[node] ?? [])
    if (!copies.every(isReachable)) return []
    const documents = copies.flatMap(({ view }) => [...view.byId.values()])
    const versions = new Map(documents.map(({ id, version }) => [id, version]))
    for (const key of forgotten) if (!versions.has(key)) versions.set(key, gone)
    return [versions]
  })
}

export function expectVersions(
  visible: ReadonlyMap<string, number>,
  expected: ReadonlyMap<string, number>,
  violation: (what: string) => Violation,
): void {
  for (const [key, version] of expected)
    if ((visible.get(key) ?? 0) < version) throw violation(`${key} is at ${visible.get(key)}, and ${version} is owed`)
}

export const nameOf = ({
  topic,
  partition,
  offset,
}: Pick<Appended, 'partition' | 'offset'> & { readonly topic: string }): string => `${topic}/${partition}/${offset}`
