import { type DocumentKind, entityTypeOf, isList, kindsOf } from '../../src/core/elasticsearch/indices.ts'
import { type DocumentId, deletedRevision, type EntityType, entityIdOf, teamIdOf } from '../../src/core/model/ids.ts'
import { toInstant } from '../../src/core/model/instant.ts'
import { carriedOver, tombstones } from '../convertRecord.ts'
import type { CommandTools } from '../engineCommand.ts'
import { documentTopics, entityTypeIn, type TopicRules } from '../topics.ts'
import type { DocumentCopier, DocumentState } from './documentCopier.ts'
import type { Generation } from './generation.ts'

import type { SwitchLock } from './switchLock.ts'

/** If the new generation lacks more entities of a type, their topic has probably lost records. */
const maxAbsent = 1_000_000
const documentsAtOnce = 500

/**
 * Live entities that the old generation has and the new one lacks. Their topics are read a second time. A compacted topic has a record of each live key:
 * - If it has no record of an entity, Kafka has removed the entity's deletion before an indexer read it. The entity is dropped.
 * - If it has one, the entity is live, and is copied. Example: the record is a dead letter, from which the new generation has no document.
 */
export class ForgottenEntities {
  readonly #tools: CommandTools
  readonly #hasCarriedOver: Generation['hasCarriedOver']
  /** The noted entities. Replaced topics, and topics with another policy than `compact`, are left out: they may lack records of live entities. */
  readonly #absent: readonly { readonly topic: string; readonly type: EntityType; readonly ids: Set<DocumentId> }[]

  constructor(
    tools: CommandTools,
    { hasCarriedOver }: Pick<Generation, 'hasCarriedOver'>,
    { wrongPolicies }: Pick<TopicRules, 'wrongPolicies'>,
    replaced: ReadonlySet<EntityType>,
  ) {
    const { config } = tools
    this.#hasCarriedOver = hasCarriedOver
    this.#tools = tools
    this.#absent = documentTopics(config).flatMap((topic) => {
      const type = entityTypeIn(topic, config)
      return topic in wrongPolicies || replaced.has(type) ? [] : [{ topic, type, ids: new Set<DocumentId>() }]
    })
  }

  /** Notes an entity that the new generation lacks, to be searched in its topic. False if its document is to be copied at once. */
  postponesCopy(kind: DocumentKind, { id, version, logPosition }: DocumentState): boolean {
    const absent = this.#absent.find(({ type }) => type === entityTypeOf(kind))
    if (absent === undefined || version === deletedRevision) return false
    // List documents are compared first, so that the list document has noted the entity.
    if (!isList(kind)) return absent.ids.has(id)
    // A rebuild has carried this entity over from a replaced log: it is live, though the present log has no record of it.
    if (this.#hasCarriedOver[absent.type] && logPosition === carriedOver) return false
    if (absent.ids.add(id).size > maxAbsent)
      throw new Error(
        `the new generation lacks more than ${maxAbsent} ${absent.type} that the old one has: were records lost?`,
      )
    return true
  }

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
      // If more entities lack a record than the topic has records, the topic was probably lost, and the entities are live. Tombstones could not be undone.
      if (ids.size > records)
        throw new Error(
          `${topic} has ${records} records and none of ${ids.size} ${type}: was it lost? Have them all appended again`,
        )
      for (const kind of kindsOf[type]) await copier.copy(kind, [...withRecord])
      if (ids.size > 0) report.step(`${ids.size} ${type} are in no record of their topic any more`)
    }
  }

  /**
   * Writes tombstones of the noted entities without a record, unless the new generation has got documents of them. To be called once it has every record, also
   * those that were appended during `copyWithRecord`. Resolves with the number of tombstones.
   */
  async drop(copier: DocumentCopier, deletedAtMs: number, lock: SwitchLock): Promise<number> {
    let droppedInAll = 0
    const deletedAt = toInstant(deletedAtMs)
    for (const { type, ids } of this.#absent) {
      const keys = [...ids].map((id) => ({ teamId: teamIdOf(id), entityId: entityIdOf(id) }))
      let dropped = 0
      for (let at = 0; at < keys.length; at += documentsAtOnce) {
        const batch = keys.slice(at, at + documentsAtOnce)
        dropped += await copier.addMissing(
          batch.flatMap((key) => tombstones(key, kindsOf[type], { changedAt: deletedAt })),
        )
        await lock.extend()
      }
      if (dropped > 0)
        this.#tools.report.step(`${dropped / kindsOf[type].length} ${type} dropped: Kafka has forgotten their deletion`)
      droppedInAll += dropped
    }
    return droppedInAll
  }
}
