import { randomUUID } from 'node:crypto'
import { type DocumentId, deletedRevision, type Offset } from '../../src/core/model/ids.ts'
import type { EntityType } from '../../src/core/model/teamList.ts'
import type { Config } from '../../src/core/process/config.ts'
import type { DocumentWrite } from '../../src/core/stores/documents.ts'
import type { DocumentKind } from '../../src/core/stores/indices.ts'
import { rebuildGroup } from '../committedOffsets.ts'
import { projectRecord } from '../projectRecord.ts'
import type { TopicRules } from '../topics.ts'
import { kindsOf, placeOf } from '../verify/entries.ts'
import type { RebuildOptions } from './rebuildOptions.ts'
import type { Reconciliation } from './reconcile.ts'

/** Their ids are kept in memory. So many are no deletions that were missed: a topic has lost its records. */
const maxAbsent = 1_000_000
const droppedAtOnce = 500

type Ids = Set<DocumentId>

/**
 * The live entities that the old generation has and the new one lacks. A topic that is purely compacted keeps a record of each live key: if
 * it holds none, the entity was deleted, and Kafka has forgotten the deletion before an indexer read it. A record that is a dead
 * letter counts: its entity lives on as it was before.
 */
export class ForgottenEntities {
  readonly #topics: ReadonlyMap<EntityType, string>
  readonly #ids = new Map<EntityType, Ids>()
  #isCollecting = true

  /** `topics`: those that are purely compacted, by what they hold. What others lack says nothing. */
  constructor(topics: ReadonlyMap<EntityType, string>) {
    this.#topics = topics
  }

  /** Takes a document that the new generation lacks, unless it is to be copied. */
  takes(kind: DocumentKind, id: DocumentId, version: number): boolean {
    const { type } = placeOf[kind]
    if (!this.#isCollecting || version === deletedRevision || !this.#topics.has(type)) return false
    const ids = this.#ids.get(type) ?? new Set()
    this.#ids.set(type, ids.add(id))
    if (ids.size > maxAbsent) throw new Error(`the topics hold no record of more than ${maxAbsent} ${type}`)
    return true
  }

  /** Looks which of them the topics still hold a record of, and has these copied. */
  async settle(options: RebuildOptions, reconciliation: Reconciliation): Promise<void> {
    this.#isCollecting = false
    for (const [type, ids] of this.#ids) {
      const held = await this.#heldIn(options, type, ids)
      for (const id of held) ids.delete(id)
      for (const kind of kindsOf(type)) await reconciliation.copy(kind, [...held])
      if (ids.size > 0) options.report.step(`${ids.size} ${type} are in no record of their topic any more`)
    }
  }

  async #heldIn({ source, config, report, signal }: RebuildOptions, type: EntityType, ids: Ids): Promise<Ids> {
    const topic = this.#topics.get(type)
    if (topic === undefined) return ids
    report.step(`${topic} is read for ${ids.size} ${type} that the new generation lacks`)
    const held: Ids = new Set()
    let records = 0
    await source.readTopic({
      ...{ topic, signal, groupId: `${rebuildGroup(config.CONSUMER_GROUP)}-${randomUUID()}` },
      onRecord: async ({ key }) => {
        records++
        const id = key?.toString('latin1') as DocumentId | undefined
        if (id !== undefined && ids.has(id)) held.add(id)
      },
    })
    const absent = ids.size - held.size
    // A topic that was lost and created anew says nothing, and a deletion is for good.
    if (absent > records)
      throw new Error(
        `${topic} holds ${records} records and none of ${absent} ${type}: was it lost? Have them all appended again`,
      )
    return held
  }

  /**
   * Writes deletions of those that the new generation still lacks, so that whoever follows changes is told. To be called when it holds every
   * record, also those that were appended while the topics were read. `extendHold` is called at least every few seconds.
   */
  async drop(
    { config, report }: RebuildOptions,
    reconciliation: Reconciliation,
    deletedAtMs: number,
    extendHold: () => Promise<void>,
  ): Promise<void> {
    for (const [type, ids] of this.#ids) {
      const topic = this.#topics.get(type) ?? ''
      const all = [...ids]
      let dropped = 0
      for (let at = 0; at < all.length; at += droppedAtOnce) {
        const some = all.slice(at, at + droppedAtOnce)
        dropped += await reconciliation.addMissing(some.flatMap((id) => deletionOf(topic, id, deletedAtMs, config)))
        await extendHold()
      }
      if (dropped > 0)
        report.step(`${dropped / kindsOf(type).length} ${type} dropped: Kafka has forgotten their deletion`)
    }
  }
}

/** Both documents of a deletion. */
function deletionOf(topic: string, id: DocumentId, deletedAtMs: number, config: Config): DocumentWrite[] {
  const place = { topic, partition: 0, offset: 0n as Offset, appendedAtMs: deletedAtMs, headers: {} }
  const projection = projectRecord({ ...place, key: Buffer.from(id), value: null }, deletedAtMs, config)
  return projection.kind === 'documents' ? projection.documents : []
}

/** The document topics that are purely compacted, by what they hold. */
export const purelyCompacted = (
  { TOPIC_FORMS: forms, TOPIC_SUBMISSIONS: submissions }: Config,
  { forgetful }: Pick<TopicRules, 'forgetful'>,
): ReadonlyMap<EntityType, string> =>
  new Map(Object.entries({ forms, submissions }).filter(([, topic]) => !(topic in forgetful)) as [EntityType, string][])
