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
import { bulkBounds, bulkQuestions, encodeBulk, sendBulk } from '../bulk/bulkApi.ts'
import { expectOwnIndices } from '../bulk/bulkFailure.ts'
import { BulkWriter } from '../bulk/bulkWriter.ts'
import type { Outcome } from '../bulk/job.ts'
import { carriedOver, type Documents, type DocumentWrite, withFoundBy, withoutPosition } from '../convertRecord.ts'
import type { CommandTools } from '../engineCommand.ts'
import { refreshEveryCopy } from '../refreshEveryCopy.ts'
import type { Generation } from './generation.ts'

/** What is compared of a document; only list documents have more than id and version. */
export type Version = {
  readonly id: DocumentId
  /** 0 for a document that is not there. */
  readonly version: number
  /** Of its record; undefined where it is not read. */
  readonly logPosition?: number | undefined
  /** Of what its record says; undefined for a tombstone. */
  readonly digest?: string | undefined
}

/** The values of the fields of a list document. */
type ListFields = {
  readonly digest?: readonly string[]
  readonly logPosition?: readonly number[]
}

type Tools = Pick<CommandTools, 'elasticsearch' | 'report' | 'signal'> & {
  readonly config: Pick<Config, 'INDEX_ANSWERS'>
}

type IsForgotten = (kind: DocumentKind, old: Version) => boolean

const versionsPerRequest = 2_000

/**
 * Copies what the new generation (`to`) lacks of the old one (`from`). Compaction removes records that a rebuild would need: tombstones after
 * their retention, and a high revision that a late record with a lower one has replaced. Of two contents under one revision that of the old generation
 * stays: compaction has removed its record, and the later one is a dead letter.
 */
export class Reconciliation {
  readonly from: Generation
  readonly to: Generation
  /** The entity types whose topics are other logs than `from` was read from: documents that are copied have no position in these. */
  readonly replaced: ReadonlySet<EntityType>
  readonly #tools: Tools
  readonly #request: RequestOptions
  /** `<index>/<shard>` → the highest sequence number that was compared. */
  readonly #compared = new Map<string, number>()
  /** `<index>/<shard>` → the highest sequence number that its primary had given when the last pass began. */
  #begun: ReadonlyMap<string, number> = new Map()
  readonly #writer: BulkWriter
  /** Rejects when the writer meets a bug, or the signal aborts. */
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
      // Also over documents of the same version: what the old generation holds stays.
      send: async (documents) => {
        const body = encodeBulk(to.writeAliases, documents, 'external_gte')
        const outcomes = await sendBulk(elasticsearch, body, documents, this.#request)
        // Indexers give back the alias of what serves.
        return to.isServing ? outcomes : expectOwnIndices(outcomes)
      },
      ...bulkQuestions(elasticsearch, to, this.#request),
      ...bulkBounds,
      elapsedMs: () => performance.now(),
      random: Math.random,
      signal,
      onBlocked: (failure) => failure && report.step(`waiting: ${failure.reason}`),
      onFatal: this.#stopped.reject,
    })
  }

  /**
   * Begins a comparison that ends once every write was compared that primaries have begun until now, acknowledged or not. Indexers may go on writing
   * meanwhile. Returns a function that runs one pass, and resolves with whether all of them were compared.
   */
  async beginWhole(): Promise<() => Promise<boolean>> {
    await this.pass()
    const wanted = this.#begun
    return async () => {
      // After a failover a primary may have given fewer numbers than the one before.
      const isCompared = [...wanted].every(
        ([shard, last]) => (this.#compared.get(shard) ?? -1) >= Math.min(last, this.#begun.get(shard) ?? last),
      )
      if (!isCompared) await this.pass()
      return isCompared
    }
  }

  /**
   * Compares what was written to the old generation since the last pass, by the sequence numbers of the shards, and copies what the new one
   * lacks. A document that it lacks altogether is left out if `isForgotten`. Returns how many documents were compared, and how many copied.
   */
  async pass(isForgotten: IsForgotten = () => false) {
    const index = documentKinds.flatMap((kind) => [this.from.indices[kind], this.to.indices[kind]])
    // Read before the refresh: what is written during it no search below would find, and no later pass would look for.
    const asked = { index: Object.values(this.from.indices), level: 'shards' } as const
    const stats = await this.#tools.elasticsearch.indices.stats(asked, this.#request)
    const shards = asked.index.flatMap((each) => Object.values(stats.indices?.[each]?.shards ?? {}))
    // Elasticsearch leaves out, with status 200, what a node could not tell. A copy that is left out may lack what its primary has.
    const { failed } = stats._shards
    if (shards.length !== this.from.shards || failed > 0)
      throw new Error(
        `Elasticsearch tells of ${shards.length} of ${this.from.shards} shards, without ${failed} copies: run the rebuild again`,
      )
    this.#begun = begunIn(stats)
    // Any copy may answer the searches.
    await refreshEveryCopy(this.#tools.elasticsearch, index, this.#request)
    const isFirst = this.#compared.size === 0
    const counts = Object.values(this.from.indices).map((each) => stats.indices?.[each]?.primaries?.docs?.count ?? 0)
    const total = counts.reduce((sum, each) => sum + each, 0)
    let [compared, copied] = [0, 0]
    for (const kind of documentKinds)
      for await (const old of this.#writtenUpTo(kind, stats)) {
        copied += await this.#compare(kind, old, isForgotten)
        compared += old.length
        if (isFirst) this.#tools.report.progress('documents compared', compared, total)
      }
    return { compared, copied }
  }

  /** What was written up to the sequence numbers up to which every copy has every write: any copy may be searched, and those above may get lost. */
  async *#writtenUpTo(kind: DocumentKind, stats: estypes.IndicesStatsResponse): AsyncGenerator<Version[]> {
    const index = this.from.indices[kind]
    const shards = Object.entries(stats.indices?.[index]?.shards ?? {})
    for (const [shard, copies] of shards) {
      const last = reachedBy(copies)
      if (last === undefined) throw new Error(`shard ${shard} of ${index} has no primary`)
      const above = this.#compared.get(`${index}/${shard}`) ?? -1
      const asked = {
        query: { range: { _seq_no: { gt: above, lte: last } } },
        preference: `_shards:${shard}`,
        size: versionsPerRequest,
        _source: false,
        docvalue_fields: isList(kind) ? [{ field: 'digest' }, { field: 'logPosition' }] : [],
      }
      if (last > above)
        for await (const part of scan(this.#tools.elasticsearch, index, asked, this.#request))
          yield part.map(({ id, version, fields }) => {
            const values = (fields === '' ? {} : JSON.parse(fields)) as ListFields
            return { id, version, digest: values.digest?.[0], logPosition: values.logPosition?.[0] }
          })
      this.#compared.set(`${index}/${shard}`, last)
    }
  }

  /** Copies what is missing, older, or of another content in the new index. Returns how many were missing or older. */
  async #compare(kind: DocumentKind, old: readonly Version[], isForgotten: IsForgotten): Promise<number> {
    const known = await this.#versions(kind, old)
    const versionOf = (at: number): number => known[at]?.version ?? 0
    const missing = old.filter(
      (each, at) => each.version > versionOf(at) && !(versionOf(at) === 0 && isForgotten(kind, each)),
    )
    const others = old.filter(
      ({ version, digest }, at) => version === versionOf(at) && digest !== undefined && digest !== known[at]?.digest,
    )
    const copied = await this.copy(kind, missing.map(idOf))
    if (copied < missing.length) throw new Error(`${missing.length - copied} ${kind} cannot be read again`)
    for (const each of kindsOf[entityTypeOf(kind)]) await this.copy(each, others.map(idOf))
    await this.copy(kind, this.#ofAnotherRecord(kind, old, known).map(idOf))
    return copied
  }

  /**
   * Documents that the new generation has made from another record of the same revision. Example: `a@5` lies in partition 0 at offset 10 and, appended
   * again after partitions were added, in partition 1 at offset 5. A follower of the old generation, which has read partition 0 first, waits for
   * `0/10`, and has passed `1/5`. Whoever has passed an entity that was carried over has it.
   */
  #ofAnotherRecord(kind: DocumentKind, old: readonly Version[], known: readonly Version[]): readonly Version[] {
    if (!isList(kind) || this.to.isServing || this.replaced.has(entityTypeOf(kind))) return []
    return old.filter(
      ({ version, logPosition = carriedOver }, at) =>
        version === known[at]?.version && logPosition !== carriedOver && logPosition !== known[at]?.logPosition,
    )
  }

  /** Versions in the new index, in the order of the documents. */
  async #versions(kind: DocumentKind, documents: readonly Pick<Version, 'id'>[]): Promise<Version[]> {
    const members = isList(kind) ? ['digest', 'logPosition'] : []
    const ids = documents.map(idOf)
    const found = await multiGet(this.#tools.elasticsearch, this.to.indices[kind], ids, members, this.#request)
    return ids.map((id, at) => {
      const { version = 0, source = '' } = found[at] ?? {}
      const list = (source === '' ? {} : JSON.parse(source)) as Pick<Version, 'digest' | 'logPosition'>
      return { id, version, digest: list.digest, logPosition: list.logPosition }
    })
  }

  /** Copies documents from the old generation, unless they are not there or have a higher version in the new one; returns how many are there. */
  async copy(kind: DocumentKind, ids: readonly DocumentId[]): Promise<number> {
    let copied = 0
    const isOfAnotherLog = isList(kind) && this.replaced.has(entityTypeOf(kind))
    for await (const documents of this.#sources(this.from, kind, ids)) {
      const copies = documents.map((each) =>
        isOfAnotherLog ? { ...each, source: withoutPosition(each.source) } : each,
      )
      await this.#write(copies.map((each) => withFoundBy(each, this.#tools.config.INDEX_ANSWERS)))
      copied += documents.length
    }
    return copied
  }

  /** Writes those of the documents that the new generation lacks; returns how many. */
  async addMissing(documents: Documents): Promise<number> {
    let added = 0
    for (const kind of documentKinds) {
      const ofKind = documents.filter((each) => each.kind === kind)
      const known = await this.#versions(kind, ofKind)
      const missing = ofKind.filter((_, at) => known[at]?.version === 0)
      await this.#write(missing)
      added += missing.length
    }
    return added
  }

  /** Reads whole documents, some at a time; one that is not there is left out. */
  async *#sources(of: Generation, kind: DocumentKind, ids: readonly DocumentId[]): AsyncGenerator<DocumentWrite[]> {
    for await (const part of readWhole(this.#tools.elasticsearch, of.indices[kind], ids, this.#request))
      yield part.map(({ id, version, source }): DocumentWrite => {
        // On one line, as every source was sent.
        return { kind, id, teamId: teamIdOf(id), version: version as Revision, source: Buffer.from(source) }
      })
  }

  async #write(documents: Documents): Promise<void> {
    const stored = documents.map(
      (each) =>
        new Promise<Outcome>((done) => {
          const name = (): string => `${each.kind} ${each.id}`
          this.#writer.submit({ documents: [each], isCompared: false, name, done })
        }),
    )
    const outcomes = await Promise.race([Promise.all(stored), this.#stopped.promise])
    outcomes.forEach((outcome, at) => {
      if (outcome.kind === 'rejected')
        throw new Error(`${documents[at]?.kind} ${documents[at]?.id} cannot be reconciled: ${outcome.reason}`)
    })
  }
}

const idOf = ({ id }: Pick<Version, 'id'>): DocumentId => id

const ofPrimary = (copies: readonly estypes.IndicesStatsShardStats[]) =>
  copies.find(({ routing }) => routing?.primary)?.seq_no

/** `<index>/<shard>` → the highest sequence number that its primary has given. */
const begunIn = ({ indices = {} }: estypes.IndicesStatsResponse): ReadonlyMap<string, number> =>
  new Map(
    Object.entries(indices).flatMap(([index, { shards = {} }]) =>
      Object.entries(shards).flatMap(([shard, copies]) => {
        const begun = ofPrimary(copies)?.max_seq_no
        return begun === undefined ? [] : [[`${index}/${shard}`, begun] as const]
      }),
    ),
  )

/** Up to which sequence number every copy of a shard has every write; undefined without a primary. */
function reachedBy(copies: readonly estypes.IndicesStatsShardStats[]): number | undefined {
  const reached = ofPrimary(copies)
  if (reached === undefined) return undefined
  const { local_checkpoint: own, global_checkpoint: all } = reached
  // Where one copy is left, the global checkpoint may stay behind until the next write.
  return copies.length === 1 ? own : Math.min(own, all)
}
