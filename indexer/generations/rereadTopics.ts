import { type DocumentKind, entityTypeOf, isList, kindsOf } from '../../src/core/elasticsearch/indices.ts'
import { type DocumentId, deletedRevision, type EntityType, entityIdOf, teamIdOf } from '../../src/core/model/ids.ts'
import { toInstant } from '../../src/core/model/instant.ts'
import { carriedOver, tombstones } from '../convertRecord.ts'
import type { CommandTools } from '../engineCommand.ts'
import { documentTopics, entityTypeIn, type TopicRules } from '../topics.ts'
import type { Generation } from './generation.ts'
import type { Reconciliation, Version } from './reconcile.ts'

/** Their ids are kept in memory. So many are no missed deletions: a topic has lost its records. */
const maxAbsent = 1_000_000
const documentsAtOnce = 500

/**
 * The live entities that the old generation has and the new one lacks. A topic that is purely compacted keeps a record of each live key: if
 * it holds none, the entity was deleted, and Kafka has forgotten the deletion before an indexer read it. A dead letter counts as a
 * record: its entity lives on as it was before.
 */
export class ForgottenEntities {
  readonly #tools: CommandTools
  readonly #hasCarriedOver: Generation['hasCarriedOver']
  /** By purely compacted topic; what other topics lack says nothing, nor what one lacks that was replaced. */
  readonly #absent: readonly { readonly topic: string; readonly type: EntityType; readonly ids: Set<DocumentId> }[]

  constructor(
    tools: CommandTools,
    { hasCarriedOver }: Pick<Generation, 'hasCarriedOver'>,
    { forgetful }: Pick<TopicRules, 'forgetful'>,
    replaced: ReadonlySet<EntityType>,
  ) {
    const { config } = tools
    this.#hasCarriedOver = hasCarriedOver
    this.#tools = tools
    this.#absent = documentTopics(config).flatMap((topic) => {
      const type = entityTypeIn(topic, config)
      return topic in forgetful || replaced.has(type) ? [] : [{ topic, type, ids: new Set<DocumentId>() }]
    })
  }

  /** Takes a document that the new generation lacks; false for one that is to be copied. */
  takes(kind: DocumentKind, { id, version, logPosition }: Version): boolean {
    const absent = this.#absent.find(({ type }) => type === entityTypeOf(kind))
    if (absent === undefined || version === deletedRevision) return false
    // Lists are compared before details.
    if (!isList(kind)) return absent.ids.has(id)
    // It was carried over from a log that was replaced: that no record of the present one names it does not mean that it was deleted.
    if (this.#hasCarriedOver[absent.type] && logPosition === carriedOver) return false
    if (absent.ids.add(id).size > maxAbsent)
      throw new Error(`the topics hold no record of more than ${maxAbsent} ${absent.type}`)
    return true
  }

  /** Copies those of which the topics still hold a record. */
  async copyHeld(reconciliation: Reconciliation): Promise<void> {
    const { source, report, signal } = this.#tools
    for (const { topic, type, ids } of this.#absent) {
      if (ids.size === 0) continue
      report.step(`${topic} is read for ${ids.size} ${type} that the new generation lacks`)
      const held = new Set<DocumentId>()
      let records = 0
      await source.readTopic({
        ...{ topic, signal },
        onRecord: async ({ key }) => {
          records++
          const id = key?.toString('latin1') as DocumentId | undefined
          if (id !== undefined && ids.delete(id)) held.add(id)
        },
      })
      // A topic that was lost and created anew says nothing, and a deletion is for good.
      if (ids.size > records)
        throw new Error(
          `${topic} holds ${records} records and none of ${ids.size} ${type}: was it lost? Have them all appended again`,
        )
      for (const kind of kindsOf[type]) await reconciliation.copy(kind, [...held])
      if (ids.size > 0) report.step(`${ids.size} ${type} are in no record of their topic any more`)
    }
  }

  /**
   * Writes deletions of those that the new generation still lacks, so that followers of changes are told. To be called when it holds every
   * record, also those that were appended while the topics were read. Calls `extendLock` at least every few seconds.
   * Resolves with the number of documents that were dropped.
   */
  async drop(reconciliation: Reconciliation, deletedAtMs: number, extendLock: () => Promise<void>): Promise<number> {
    let droppedInAll = 0
    const deletedAt = toInstant(deletedAtMs)
    for (const { type, ids } of this.#absent) {
      const all = [...ids].map((id) => ({ teamId: teamIdOf(id), entityId: entityIdOf(id) }))
      let dropped = 0
      for (let at = 0; at < all.length; at += documentsAtOnce) {
        const some = all.slice(at, at + documentsAtOnce)
        dropped += await reconciliation.addMissing(
          some.flatMap((key) => tombstones(key, kindsOf[type], { changedAt: deletedAt })),
        )
        await extendLock()
      }
      if (dropped > 0)
        this.#tools.report.step(`${dropped / kindsOf[type].length} ${type} dropped: Kafka has forgotten their deletion`)
      droppedInAll += dropped
    }
    return droppedInAll
  }
}
