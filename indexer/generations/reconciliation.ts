import type { estypes } from '@elastic/elasticsearch'
import type { Config } from '../../src/core/config/config.ts'
import type { RequestOptions } from '../../src/core/elasticsearch/elasticsearch.ts'
import {
  type DocumentKind,
  documentKinds,
  entityTypeOf,
  isList,
  kindsOf,
} from '../../src/core/elasticsearch/indices.ts'
import { multiGet, readWhole, scan } from '../../src/core/elasticsearch/readDocuments.ts'
import { type DocumentId, type EntityType, type Revision, teamIdOf } from '../../src/core/model/ids.ts'
import { bulkBounds, bulkQueries, encodeBulk, sendBulk } from '../bulk/bulkApi.ts'
import { expectOwnIndices } from '../bulk/bulkFailure.ts'
import { BulkWriter } from '../bulk/bulkWriter.ts'
import type { Outcome } from '../bulk/job.ts'
import { asCarriedOver, carriedOver, type Documents, type DocumentWrite, renewSearchMembers } from '../convertRecord.ts'
import type { CommandTools } from '../engineCommand.ts'
import { refreshEveryCopy } from '../refreshEveryCopy.ts'
import type { Generation } from './generation.ts'

/** A detail document has only id and version. */
export type Version = {
  readonly id: DocumentId
  /** 0 for a document that does not exist. */
  readonly version: number
  /** The position of its record; undefined if it was not read. */
  readonly logPosition?: number | undefined
  /** The digest of its record's content; undefined for a tombstone. */
  readonly digest?: string | undefined
}

type ListFields = {
  readonly digest?: readonly string[]
  readonly logPosition?: readonly number[]
}

type Tools = Pick<CommandTools, 'elasticsearch' | 'report' | 'signal'> & {
  readonly config: Pick<Config, 'INDEX_ANSWERS'>
}

type PassResult = { readonly compared: number; readonly copied: number }

/** Whether a pass leaves out a document of which the new generation has no version. */
type IsForgotten = (kind: DocumentKind, old: Version) => boolean

const versionsPerRequest = 2_000

/**
 * Copies, from the old generation (`from`) to the new one (`to`), the documents that cannot be built from Kafka, since compaction has removed their records:
 * - a deletion whose record is older than `delete.retention.ms`;
 * - `a@7`, after which a late record `a@6` with the same key was appended;
 * - `a@5`, after which revision 5 was appended with other content. The later record is a dead letter: the earlier content must stay.
 */
export class Reconciliation {
  readonly from: Generation
  readonly to: Generation
  /** The types with a replaced log. Their list documents are copied without positions, which are offsets of the former log. */
  readonly replaced: ReadonlySet<EntityType>
  readonly #tools: Tools
  readonly #request: RequestOptions
  /** `<index>/<shard>` → the sequence number up to which its writes were compared. */
  readonly #compared = new Map<string, number>()
  #startedWrites: ReadonlyMap<string, number> = new Map()
  readonly #writer: BulkWriter
  /** Rejects at a bug of the writer, or when the signal aborts. */
  readonly #stopped = Promise.withResolvers<never>()

  constructor(tools: Tools, from: Generation, to: Generation, replaced: ReadonlySet<EntityType>) {
    const { elasticsearch, report, signal } = tools
    this.from = from
    this.to = to
    this.replaced = replaced
    this.#tools = tools
    this.#request = { signal }
    this.#stopped.promise.catch(() => undefined)
    signal.addEventListener('abort', () => this.#stopped.reject(signal.reason), { once: true })
    this.#writer = new BulkWriter({
      // `external_gte`: the content of the old generation also replaces the same version.
      send: async (documents) => {
        const body = encodeBulk(to.writeAliases, documents, 'external_gte')
        const outcomes = await sendBulk(elasticsearch, body, documents, this.#request)
        // If a write alias is missing while `to` serves, waits until an indexer restores it. Otherwise another rebuild has taken `to` over: throws.
        return to.isServing ? outcomes : expectOwnIndices(outcomes)
      },
      ...bulkQueries(elasticsearch, to, this.#request),
      ...bulkBounds,
      elapsedMs: () => performance.now(),
      random: Math.random,
      signal,
      onBlocked: (failure) => failure && report.step(`waiting: ${failure.reason}`),
      onFatal: this.#stopped.reject,
    })
  }

  /** The writes that primaries had started when the last pass began, acknowledged or not: `<index>/<shard>` → the highest sequence number. */
  get startedWrites(): ReadonlyMap<string, number> {
    return this.#startedWrites
  }

  /** Whether the passes have compared these writes. Copies of a shard may get a write after its primary, so that only a later pass compares it. */
  hasCompared(writes: ReadonlyMap<string, number>): boolean {
    // After a failover, the new primary may have fewer sequence numbers: the writes above them are lost, and not waited for.
    return [...writes].every(
      ([shard, last]) => (this.#compared.get(shard) ?? -1) >= Math.min(last, this.#startedWrites.get(shard) ?? last),
    )
  }

  /**
   * Compares the documents that were written to the old generation since the last pass, and copies those that differ (`#compare`). Leaves out a document that
   * the new generation lacks, if `isForgotten` returns true.
   */
  async pass(isForgotten: IsForgotten = () => false): Promise<PassResult> {
    const indices = documentKinds.flatMap((kind) => [this.from.indices[kind], this.to.indices[kind]])
    const compared = Object.values(this.from.indices)
    // 1. Reads the sequence numbers. A later write may not be searchable in step 3, and is left to the next pass.
    const stats = await this.#tools.elasticsearch.indices.stats({ index: compared, level: 'shards' }, this.#request)
    const shards = compared.flatMap((index) => Object.values(stats.indices?.[index]?.shards ?? {}))
    // If a node does not answer, Elasticsearch answers 200 without its copies. These may lack writes, and may still answer the searches of step 3.
    const { failed } = stats._shards
    if (shards.length !== this.from.shards || failed > 0)
      throw new Error(
        `Elasticsearch answers for ${shards.length} of ${this.from.shards} shards, and not for ${failed} copies: run the rebuild again`,
      )
    this.#startedWrites = startedWritesIn(stats)
    // 2. Refreshes every copy: any copy may answer the searches.
    await refreshEveryCopy(this.#tools.elasticsearch, indices, this.#request)
    // 3. Searches and compares the documents up to these sequence numbers.
    const isFirst = this.#compared.size === 0
    const counts = compared.map((index) => stats.indices?.[index]?.primaries?.docs?.count ?? 0)
    const total = counts.reduce((sum, count) => sum + count, 0)
    const result = { compared: 0, copied: 0 }
    for (const kind of documentKinds)
      for await (const old of this.#writtenUpTo(kind, stats)) {
        result.copied += await this.#compare(kind, old, isForgotten)
        result.compared += old.length
        if (isFirst) this.#tools.report.progress('documents compared', result.compared, total)
      }
    return result
  }

  /**
   * The documents that were written since the last pass, up to the sequence number that every copy of their shard has reached. A copy without later writes may
   * answer the search, and a failover may lose these writes.
   */
  async *#writtenUpTo(kind: DocumentKind, stats: estypes.IndicesStatsResponse): AsyncGenerator<Version[]> {
    const index = this.from.indices[kind]
    const shards = Object.entries(stats.indices?.[index]?.shards ?? {})
    for (const [shard, copies] of shards) {
      const last = reachedBy(copies)
      if (last === undefined) throw new Error(`shard ${shard} of ${index} has no primary`)
      const above = this.#compared.get(`${index}/${shard}`) ?? -1
      const search = {
        query: { range: { _seq_no: { gt: above, lte: last } } },
        preference: `_shards:${shard}`,
        size: versionsPerRequest,
        _source: false,
        docvalue_fields: isList(kind) ? [{ field: 'digest' }, { field: 'logPosition' }] : [],
      }
      if (last > above)
        for await (const part of scan(this.#tools.elasticsearch, index, search, this.#request))
          yield part.map(({ id, version, fields }) => {
            const values = (fields === '' ? {} : JSON.parse(fields)) as ListFields
            return { id, version, digest: values.digest?.[0], logPosition: values.logPosition?.[0] }
          })
      this.#compared.set(`${index}/${shard}`, last)
    }
  }

  /** Copies documents that are missing, older, or of other content or of another record in the new index. Returns how many were missing or older. */
  async #compare(kind: DocumentKind, old: readonly Version[], isForgotten: IsForgotten): Promise<number> {
    const stored = await this.#versions(kind, old)
    const versionOf = (at: number): number => stored[at]?.version ?? 0
    const missingOrOlder = old.filter(
      (document, at) => document.version > versionOf(at) && !(versionOf(at) === 0 && isForgotten(kind, document)),
    )
    const ofOtherContent = old.filter(
      ({ version, digest }, at) => version === versionOf(at) && digest !== undefined && digest !== stored[at]?.digest,
    )
    const copied = await this.copy(kind, missingOrOlder.map(idOf))
    if (copied < missingOrOlder.length)
      throw new Error(`${missingOrOlder.length - copied} ${kind} cannot be read again`)
    for (const sameEntity of kindsOf[entityTypeOf(kind)]) await this.copy(sameEntity, ofOtherContent.map(idOf))
    await this.copy(kind, this.#ofAnotherRecord(kind, old, stored).map(idOf))
    return copied
  }

  /**
   * The list documents that the new generation has made from another record of the same revision. They must get the positions of the old generation. Example:
   * 1. `a@5` is in partition 0 at offset 10. After partitions were added, it was appended again, in partition 1 at offset 5.
   * 2. The old generation has read partition 0 first: `a` has position 0/10. A follower has read past 1/5, but not yet past 0/10.
   * 3. The new generation has read partition 1 first. If `a` kept position 1/5, the follower would never get it.
   *
   * An entity that was carried over keeps its new position: every follower has got the entity already. If `to` serves, all entities keep their positions:
   * followers read these.
   */
  #ofAnotherRecord(kind: DocumentKind, old: readonly Version[], stored: readonly Version[]): readonly Version[] {
    if (!isList(kind) || this.to.isServing || this.replaced.has(entityTypeOf(kind))) return []
    return old.filter(
      ({ version, logPosition = carriedOver }, at) =>
        version === stored[at]?.version && logPosition !== carriedOver && logPosition !== stored[at]?.logPosition,
    )
  }

  async #versions(kind: DocumentKind, documents: readonly Pick<Version, 'id'>[]): Promise<Version[]> {
    const members = isList(kind) ? ['digest', 'logPosition'] : []
    const ids = documents.map(idOf)
    const stored = await multiGet(this.#tools.elasticsearch, this.to.indices[kind], ids, members, this.#request)
    return ids.map((id, at) => {
      const { version = 0, source = '' } = stored[at] ?? {}
      const list = (source === '' ? {} : JSON.parse(source)) as Pick<Version, 'digest' | 'logPosition'>
      return { id, version, digest: list.digest, logPosition: list.logPosition }
    })
  }

  /** Copies documents from the old generation; higher versions in the new one stay. Returns how many of them the old generation has. */
  async copy(kind: DocumentKind, ids: readonly DocumentId[]): Promise<number> {
    let copied = 0
    const isOfAnotherLog = isList(kind) && this.replaced.has(entityTypeOf(kind))
    for await (const documents of this.#documents(this.from, kind, ids)) {
      const copies = documents.map((document) =>
        isOfAnotherLog ? { ...document, source: asCarriedOver(document.source) } : document,
      )
      await this.#write(copies.map((copy) => renewSearchMembers(copy, this.#tools.config.INDEX_ANSWERS)))
      copied += documents.length
    }
    return copied
  }

  async addMissing(documents: Documents): Promise<number> {
    let added = 0
    for (const kind of documentKinds) {
      const ofKind = documents.filter((document) => document.kind === kind)
      const stored = await this.#versions(kind, ofKind)
      const missing = ofKind.filter((_, at) => stored[at]?.version === 0)
      await this.#write(missing)
      added += missing.length
    }
    return added
  }

  /** Missing documents are left out. */
  async *#documents(
    generation: Generation,
    kind: DocumentKind,
    ids: readonly DocumentId[],
  ): AsyncGenerator<DocumentWrite[]> {
    for await (const part of readWhole(this.#tools.elasticsearch, generation.indices[kind], ids, this.#request))
      yield part.map(({ id, version, source }): DocumentWrite => {
        // Valid in a bulk request: the source is on one line, as it was sent.
        return { kind, id, teamId: teamIdOf(id), version: version as Revision, source: Buffer.from(source) }
      })
  }

  async #write(documents: Documents): Promise<void> {
    const writes = documents.map(
      (document) =>
        new Promise<Outcome>((done) => {
          const name = (): string => `${document.kind} ${document.id}`
          this.#writer.submit({ documents: [document], reportsConflicts: false, name, done })
        }),
    )
    const outcomes = await Promise.race([Promise.all(writes), this.#stopped.promise])
    outcomes.forEach((outcome, at) => {
      if (outcome.kind === 'rejected')
        throw new Error(`${documents[at]?.kind} ${documents[at]?.id} cannot be reconciled: ${outcome.reason}`)
    })
  }
}

const idOf = ({ id }: Pick<Version, 'id'>): DocumentId => id

const primarySeqNos = (copies: readonly estypes.IndicesStatsShardStats[]) =>
  copies.find(({ routing }) => routing?.primary)?.seq_no

const startedWritesIn = ({ indices = {} }: estypes.IndicesStatsResponse): ReadonlyMap<string, number> =>
  new Map(
    Object.entries(indices).flatMap(([index, { shards = {} }]) =>
      Object.entries(shards).flatMap(([shard, copies]) => {
        const highest = primarySeqNos(copies)?.max_seq_no
        return highest === undefined ? [] : [[`${index}/${shard}`, highest] as const]
      }),
    ),
  )

/** The sequence number up to which every copy of a shard has every write; undefined without a primary. */
function reachedBy(copies: readonly estypes.IndicesStatsShardStats[]): number | undefined {
  const primary = primarySeqNos(copies)
  if (primary === undefined) return undefined
  const { local_checkpoint: local, global_checkpoint: global } = primary
  // If only the primary is left, its global checkpoint may be too low until the next write.
  return copies.length === 1 ? local : Math.min(local, global)
}
