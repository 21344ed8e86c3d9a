import { setTimeout as sleep } from 'node:timers/promises'
import type { OffsetSpan } from '../../src/core/kafka/readTopic.ts'
import type { OffsetRange } from '../../src/core/kafka/source.ts'
import type { TopicPartition } from '../../src/core/kafka/sourceRecord.ts'
import { type DocumentId, deletedRevision, type Offset } from '../../src/core/model/ids.ts'
import { toInstant } from '../../src/core/model/instant.ts'
import type { EntityType } from '../../src/core/model/teamList.ts'
import type { Config } from '../../src/core/process/config.ts'
import type { DocumentWrite } from '../../src/core/stores/documents.ts'
import { type DocumentKind, entityTypeOf, kindsOf } from '../../src/core/stores/indices.ts'
import { convertRecord } from '../convertRecord.ts'
import type { CommandTools } from '../engineCommand.ts'
import { fetchCommittedOffsets } from '../startOffsets.ts'
import { documentTopics, type TopicRules } from '../topics.ts'
import type { Reconciliation } from './reconcile.ts'
import type { Version } from './versions.ts'

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
    const type = entityTypeOf(kind)
    if (!this.#isCollecting || version === deletedRevision || !this.#topics.has(type)) return false
    const ids = this.#ids.get(type) ?? new Set()
    this.#ids.set(type, ids.add(id))
    if (ids.size > maxAbsent) throw new Error(`the topics hold no record of more than ${maxAbsent} ${type}`)
    return true
  }

  /** Looks which of them the topics still hold a record of, and has these copied. */
  async settle(options: CommandTools, reconciliation: Reconciliation): Promise<void> {
    this.#isCollecting = false
    for (const [type, ids] of this.#ids) {
      const held = await this.#heldIn(options, type, ids)
      for (const id of held) ids.delete(id)
      for (const kind of kindsOf[type]) await reconciliation.copy(kind, [...held])
      if (ids.size > 0) options.report.step(`${ids.size} ${type} are in no record of their topic any more`)
    }
  }

  async #heldIn({ source, report, signal }: CommandTools, type: EntityType, ids: Ids): Promise<Ids> {
    const topic = this.#topics.get(type)
    if (topic === undefined) return ids
    report.step(`${topic} is read for ${ids.size} ${type} that the new generation lacks`)
    const held: Ids = new Set()
    let records = 0
    await source.readTopic({
      topic,
      signal,
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
    { config, report }: CommandTools,
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
        report.step(`${dropped / kindsOf[type].length} ${type} dropped: Kafka has forgotten their deletion`)
    }
  }
}

/** Both documents of a deletion. */
function deletionOf(topic: string, id: DocumentId, deletedAtMs: number, config: Config): DocumentWrite[] {
  const place = { topic, partition: 0, offset: 0n as Offset, appendedAtMs: deletedAtMs, headers: {} }
  const projection = convertRecord({ ...place, key: Buffer.from(id), value: null }, deletedAtMs, config)
  return projection.kind === 'documents' ? projection.documents : []
}

/** The document topics that are purely compacted, by what they hold. */
export const purelyCompacted = (
  { TOPIC_FORMS: forms, TOPIC_SUBMISSIONS: submissions }: Config,
  { forgetful }: Pick<TopicRules, 'forgetful'>,
): ReadonlyMap<EntityType, string> =>
  new Map(Object.entries({ forms, submissions }).filter(([, topic]) => !(topic in forgetful)) as [EntityType, string][])

const raisedAtOnce = 500
/** Indexers that run commit what they have read within a second. */
const patienceMs = 5_000
const pollMs = 250

/** Topic → partition → the records of it that no indexer has committed. */
type Unseen = ReadonlyMap<string, ReadonlyMap<number, OffsetSpan>>

/**
 * Gives records a `changedAt` not below `watermarkMs`, the last watermark that readers know, if they were read before it was known (`readBefore`,
 * by partition name) and no indexer has committed them: readers see them first in the new generation. Indexers that run commit them within
 * a second; when they are behind or stopped, the records are read once more. No content changes: one of two contents under one revision is a
 * dead letter. `extendHold` is called at least every few seconds.
 */
export async function raiseUnseen(
  options: CommandTools,
  reconciliation: Reconciliation,
  watermarkMs: number,
  readBefore: ReadonlyMap<string, OffsetRange & TopicPartition>,
  extendHold: () => Promise<void>,
): Promise<void> {
  const { config, source, signal } = options
  let unseen = await findUnseen(options, readBefore)
  for (let waitedMs = 0; unseen.size > 0 && waitedMs < patienceMs; waitedMs += pollMs) {
    await sleep(pollMs, undefined, { signal })
    await extendHold()
    unseen = await findUnseen(options, readBefore)
  }
  for (const [topic, ranges] of unseen) {
    const kind: DocumentKind = topic === config.TOPIC_FORMS ? 'forms' : 'submissions'
    let pending: Version[] = []
    const raise = async (): Promise<void> => {
      await reconciliation.raiseTimes(kind, pending)
      await extendHold()
      pending = []
    }
    await extendHold()
    await source.readTopic({
      topic,
      ranges,
      signal,
      onRecord: async (record) => {
        const changedAtMs = Math.max(record.appendedAtMs, watermarkMs)
        const projection = convertRecord(record, changedAtMs, config)
        if (projection.kind !== 'documents') return
        const lists = projection.documents.filter((each) => each.kind === kind)
        pending.push(...lists.map(({ id, version }) => ({ id, version, changedAt: toInstant(changedAtMs) })))
        if (pending.length >= raisedAtOnce) await raise()
      },
    })
    await raise()
  }
}

async function findUnseen(
  { config, source }: CommandTools,
  readBefore: ReadonlyMap<string, OffsetRange & TopicPartition>,
): Promise<Unseen> {
  const committed = await fetchCommittedOffsets(source, config.CONSUMER_GROUP, documentTopics(config))
  const unseen = new Map<string, Map<number, OffsetSpan>>()
  for (const [name, { topic, partition, low, high }] of readBefore) {
    const from = committed.get(name)?.position ?? low
    if (from < high) unseen.set(topic, new Map([...(unseen.get(topic) ?? []), [partition, { from, to: high }]]))
  }
  return unseen
}
