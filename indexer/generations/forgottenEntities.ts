import { type DocumentKind, entityTypeOf, isList, kindsOf } from '../../src/core/elasticsearch/indices.ts'
import { type DocumentId, deletedRevision, type EntityType, entityIdOf, teamIdOf } from '../../src/core/model/ids.ts'
import { toInstant } from '../../src/core/model/instant.ts'
import { carriedOver, tombstones } from '../convertRecord.ts'
import type { CommandTools } from '../engineCommand.ts'
import { documentTopics, entityTypeIn, type TopicRules } from '../topics.ts'
import type { DocumentCopier, DocumentState } from './documentCopier.ts'
import type { Generation } from './generation.ts'
import type { SwitchLock } from './switchLock.ts'

/** With more absent entities of a type, its topic has probably lost records. */
const maxAbsent = 1_000_000
/** Between two extensions of the lock. */
const entitiesPerBatch = 500

/**
 * Decides about live entities that the old generation has and the new one lacks:
 * 1. `postponesCopy` notes them while the generations are compared.
 * 2. `copyWithRecord` reads their topics again. A compacted topic has a record of each live key. So an entity with a record (it may be a dead letter) is live,
 *    and is copied.
 * 3. `drop` writes deletions of the others: Kafka has removed the record of their deletion before an indexer read it.
 */
export class ForgottenEntities {
  readonly #tools: CommandTools
  readonly #hasCarriedOver: Generation['hasCarriedOver']
  /** The noted entities by topic. A topic that was replaced, or whose `cleanup.policy` is not `compact`, may lack records of live entities: it is left out. */
  readonly #absent: readonly { readonly topic: string; readonly type: EntityType; readonly ids: Set<DocumentId> }[]

  constructor(
    tools: CommandTools,
    old: Pick<Generation, 'hasCarriedOver'>,
    { wrongPolicies }: Pick<TopicRules, 'wrongPolicies'>,
    replaced: ReadonlySet<EntityType>,
  ) {
    const { config } = tools
    this.#hasCarriedOver = old.hasCarriedOver
    this.#tools = tools
    this.#absent = documentTopics(config).flatMap((topic) => {
      const type = entityTypeIn(topic, config)
      return topic in wrongPolicies || replaced.has(type) ? [] : [{ topic, type, ids: new Set<DocumentId>() }]
    })
  }

  /** Called for each document that the new generation lacks. Returns false if it is to be copied at once. */
  postponesCopy(kind: DocumentKind, { id, version, logPosition }: DocumentState): boolean {
    const absent = this.#absent.find(({ type }) => type === entityTypeOf(kind))
    if (absent === undefined || version === deletedRevision) return false
    // The entity's list document was compared first, and has noted the entity.
    if (!isList(kind)) return absent.ids.has(id)
    // A rebuild has carried this live entity over from a replaced log: the present log has no record of it.
    if (this.#hasCarriedOver[absent.type] && logPosition === carriedOver) return false
    if (absent.ids.add(id).size > maxAbsent)
      throw new Error(
        `the new generation lacks more than ${maxAbsent} ${absent.type} that the old one has: were records lost?`,
      )
    return true
  }

  /** Rejects if a topic seems to have lost its records. */
  async copyWithRecord(copier: DocumentCopier): Promise<void> {
    const { source, report, signal } = this.#tools
    for (const { topic, type, ids } of this.#absent) {
      if (ids.size === 0) continue
      report.step(`${topic} is read for ${ids.size} ${type} that the new generation lacks`)
      const withRecord = new Set<DocumentId>()
      let records = 0
      await source.readTopic({
        topic,
        signal,
        onRecord: async ({ key }) => {
          records++
          const id = key?.toString('latin1') as DocumentId | undefined
          if (id !== undefined && ids.delete(id)) withRecord.add(id)
        },
      })
      // The topic was probably lost, and the entities are live. Tombstones could not be undone.
      if (ids.size > records)
        throw new Error(
          `${topic} has ${records} records and none of ${ids.size} ${type}: was it lost? Have them all appended again`,
        )
      for (const kind of kindsOf[type]) await copier.copy(kind, [...withRecord])
      if (ids.size > 0) report.step(`${ids.size} ${type} are in no record of their topic any more`)
    }
  }

  /**
   * Writes tombstones of the noted entities without a record, unless the new generation has their documents now: their records were appended during
   * `copyWithRecord`. To be called once the new generation has every record.
   */
  async drop(copier: DocumentCopier, deletedAtMs: number, lock: SwitchLock): Promise<number> {
    let allTombstones = 0
    const deletedAt = toInstant(deletedAtMs)
    for (const { type, ids } of this.#absent) {
      const keys = [...ids].map((id) => ({ teamId: teamIdOf(id), entityId: entityIdOf(id) }))
      let tombstonesOfType = 0
      for (let start = 0; start < keys.length; start += entitiesPerBatch) {
        const batch = keys.slice(start, start + entitiesPerBatch)
        tombstonesOfType += await copier.addMissing(
          batch.flatMap((key) => tombstones(key, kindsOf[type], { changedAt: deletedAt })),
        )
        await lock.extend()
      }
      const dropped = tombstonesOfType / kindsOf[type].length
      if (dropped > 0) this.#tools.report.step(`${dropped} ${type} dropped: Kafka has forgotten their deletion`)
      allTombstones += tombstonesOfType
    }
    return allTombstones
  }
}
