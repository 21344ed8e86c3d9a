import type { RequestOptions } from '../../src/core/elasticsearch/elasticsearch.ts'
import {
  type DocumentKind,
  documentKinds,
  entityTypeOf,
  isList,
  kindsOf,
} from '../../src/core/elasticsearch/indices.ts'
import { scan } from '../../src/core/elasticsearch/readDocuments.ts'
import type { DocumentId, EntityType } from '../../src/core/model/ids.ts'
import { carriedOver } from '../convertRecord.ts'
import { refreshEveryCopy } from '../refreshEveryCopy.ts'
import { type CopierTools, DocumentCopier, type DocumentState, idOf } from './documentCopier.ts'
import { forEachAtOnce } from './forEachAtOnce.ts'
import type { Generation } from './generation.ts'
import { readShards, type Shard } from './readShards.ts'

type ListFields = {
  readonly digest?: readonly string[]
  readonly logPosition?: readonly number[]
}

type PassResult = { readonly compared: number; readonly copied: number }

/** Whether a pass leaves out a document that the new generation lacks: Kafka may have forgotten that its entity was deleted. */
type IsForgotten = (kind: DocumentKind, document: DocumentState) => boolean

const documentsPerRequest = 2_000
/** Elasticsearch needs three times the CPU of this process: with four shards at once, this process is hardly idle. */
const shardsAtOnce = 4

/**
 * Copies, from the old generation (`from`) to the new one (`to`), the documents whose records compaction has removed from Kafka:
 * - a deletion whose record is older than `delete.retention.ms`;
 * - `a@7` (revision 7 of `a`), after which a late record `a@6` was appended;
 * - `a@5`, after which revision 5 was appended with other content. The later record is a dead letter: the earlier content must stay.
 *
 * After an error, no later pass is possible.
 */
export class Reconciliation {
  readonly from: Generation
  readonly to: Generation
  /** The types whose topics were replaced. Their list documents are copied without positions. */
  readonly replaced: ReadonlySet<EntityType>
  readonly copier: DocumentCopier
  readonly #tools: CopierTools
  readonly #request: RequestOptions
  readonly #failure = new AbortController()
  /** `<index>/<shard>` → the sequence number up to which the passes have compared. */
  readonly #comparedUpTo = new Map<string, number>()
  #startedWrites: ReadonlyMap<string, number> = new Map()

  constructor(tools: CopierTools, from: Generation, to: Generation, replaced: ReadonlySet<EntityType>) {
    const signal = AbortSignal.any([tools.signal, this.#failure.signal])
    this.from = from
    this.to = to
    this.replaced = replaced
    this.copier = new DocumentCopier({ ...tools, signal }, from, to, replaced)
    this.#tools = tools
    this.#request = { signal }
  }

  /** What primaries had started when the last pass began: `<index>/<shard>` → the highest sequence number. */
  get startedWrites(): ReadonlyMap<string, number> {
    return this.#startedWrites
  }

  /** `writes`: a value of `startedWrites`. */
  hasCompared(writes: ReadonlyMap<string, number>): boolean {
    return [...writes].every(([shard, lastWrite]) => {
      // After a failover, the new primary may lack the highest sequence numbers: these writes are lost, and not waited for.
      const lastStarted = this.#startedWrites.get(shard) ?? lastWrite
      return (this.#comparedUpTo.get(shard) ?? -1) >= Math.min(lastWrite, lastStarted)
    })
  }

  /**
   * Compares the documents that were written to the old generation since the last pass, and copies those that differ and that `isForgotten` does not leave out.
   *
   * Shards of an index that are compared at once have no entity in common. All list documents of a type are compared before its detail documents:
   * `ForgottenEntities` needs this order.
   */
  async pass(isForgotten: IsForgotten = () => false): Promise<PassResult> {
    const { elasticsearch, report } = this.#tools
    // Before the refresh: a write after it may not be searchable, so the next pass compares it.
    const { shards, documentCount } = await readShards(elasticsearch, this.from, this.#request)
    this.#startedWrites = new Map(shards.map(({ name, lastStarted }) => [name, lastStarted]))
    // Every copy, since any may answer the searches.
    const indices = documentKinds.flatMap((kind) => [this.from.indices[kind], this.to.indices[kind]])
    await refreshEveryCopy(elasticsearch, indices, this.#request)
    const isFirst = this.#comparedUpTo.size === 0
    const result = { compared: 0, copied: 0 }
    const compareShard = async (shard: Shard): Promise<void> => {
      for await (const documents of this.#writtenSinceLastPass(shard)) {
        // Not `result.copied += await …`: that would lose what other shards add.
        const copied = await this.#compare(shard.kind, documents, isForgotten)
        result.copied += copied
        result.compared += documents.length
        if (isFirst) report.progress('documents compared', result.compared, documentCount)
      }
      this.#comparedUpTo.set(shard.name, shard.lastOnEveryCopy)
    }
    for (const kind of documentKinds) {
      const ofKind = shards.filter((shard) => shard.kind === kind)
      await forEachAtOnce(ofKind, shardsAtOnce, compareShard, (error) => this.#failure.abort(error))
    }
    return result
  }

  /** Reads up to the sequence number that every copy has reached: a copy without later writes may answer the search, and a failover may lose these writes. */
  async *#writtenSinceLastPass({ kind, index, number, name, lastOnEveryCopy }: Shard): AsyncGenerator<DocumentState[]> {
    const compared = this.#comparedUpTo.get(name) ?? -1
    if (lastOnEveryCopy <= compared) return
    const search = {
      query: { range: { _seq_no: { gt: compared, lte: lastOnEveryCopy } } },
      preference: `_shards:${number}`,
      size: documentsPerRequest,
      _source: false,
      docvalue_fields: isList(kind) ? [{ field: 'digest' }, { field: 'logPosition' }] : [],
    }
    for await (const documents of scan(this.#tools.elasticsearch, index, search, this.#request))
      yield documents.map(({ id, version, fields }) => {
        const values = (fields === '' ? {} : JSON.parse(fields)) as ListFields
        return { id, version, digest: values.digest?.[0], logPosition: values.logPosition?.[0] }
      })
  }

  /** Returns how many documents were missing or older. Those of other content or of another record are copied, too. */
  async #compare(kind: DocumentKind, old: readonly DocumentState[], isForgotten: IsForgotten): Promise<number> {
    const stored = await this.copier.storedStates(kind, old.map(idOf))
    const missingOrOlder = old.filter((document) => {
      const inNew = stored.get(document.id)
      return inNew === undefined ? !isForgotten(kind, document) : inNew.version < document.version
    })
    const ofOtherContent = old.filter(({ id, version, digest }) => {
      const inNew = stored.get(id)
      return inNew?.version === version && digest !== undefined && digest !== inNew.digest
    })
    const copied = await this.copier.copy(kind, missingOrOlder.map(idOf))
    if (copied < missingOrOlder.length)
      throw new Error(`${missingOrOlder.length - copied} ${kind} cannot be read again`)
    for (const kindOfEntity of kindsOf[entityTypeOf(kind)])
      await this.copier.copy(kindOfEntity, ofOtherContent.map(idOf))
    await this.copier.copy(kind, this.#ofAnotherRecord(kind, old, stored).map(idOf))
    return copied
  }

  /**
   * The list documents that the new generation has made from another record of the same revision. They must get the positions of the old generation. Example:
   * 1. `a@5` is in partition 0 at offset 10. After partitions were added, it was appended again, in partition 1 at offset 5.
   * 2. The old generation has read partition 0 first: `a` has position 0/10. A follower has read past 1/5, not yet past 0/10.
   * 3. The new generation has read partition 1 first. With position 1/5, the follower would never get `a`.
   *
   * Not if `replaced`: every follower has got the entity. Not if `to` serves: followers read its positions.
   */
  #ofAnotherRecord(
    kind: DocumentKind,
    old: readonly DocumentState[],
    stored: ReadonlyMap<DocumentId, DocumentState>,
  ): readonly DocumentState[] {
    if (!isList(kind) || this.to.isServing || this.replaced.has(entityTypeOf(kind))) return []
    return old.filter(({ id, version, logPosition }) => {
      if (logPosition === undefined || logPosition === carriedOver) return false
      const inNew = stored.get(id)
      return inNew?.version === version && inNew.logPosition !== logPosition
    })
  }
}
