import type { Config } from '../../src/core/config/config.ts'
import type { RequestOptions } from '../../src/core/elasticsearch/elasticsearch.ts'
import { type DocumentKind, documentKinds, entityTypeOf, isList } from '../../src/core/elasticsearch/indices.ts'
import { multiGet, readWhole, type StoredDocument } from '../../src/core/elasticsearch/readDocuments.ts'
import { type DocumentId, type EntityType, type Revision, teamIdOf } from '../../src/core/model/ids.ts'
import { bulkBounds, bulkQueries, encodeBulk, sendBulk } from '../bulk/bulkApi.ts'
import { expectOwnIndices } from '../bulk/bulkFailure.ts'
import { BulkWriter } from '../bulk/bulkWriter.ts'
import type { Outcome } from '../bulk/job.ts'
import { asCarriedOver, type Documents, type DocumentWrite, renewSearchMembers } from '../convertRecord.ts'
import type { CommandTools } from '../engineCommand.ts'
import type { Generation } from './generation.ts'

/** A detail document has only id and version. */
export type DocumentState = {
  readonly id: DocumentId
  readonly version: number
  readonly logPosition?: number | undefined
  /** Of the record's content; undefined for a tombstone. */
  readonly digest?: string | undefined
}

export type CopierTools = Pick<CommandTools, 'elasticsearch' | 'report' | 'signal'> & {
  readonly config: Pick<Config, 'INDEX_ANSWERS'>
}

/** Writes documents to a new generation (`to`), most of them copies from an old one (`from`). */
export class DocumentCopier {
  readonly #tools: CopierTools
  readonly #from: Generation
  readonly #to: Generation
  readonly #replaced: ReadonlySet<EntityType>
  readonly #request: RequestOptions
  readonly #writer: BulkWriter
  readonly #stopped = Promise.withResolvers<never>()

  /** `replaced`: the types whose list documents are copied without positions: their topics were replaced. */
  constructor(tools: CopierTools, from: Generation, to: Generation, replaced: ReadonlySet<EntityType>) {
    const { elasticsearch, report, signal } = tools
    this.#tools = tools
    this.#from = from
    this.#to = to
    this.#replaced = replaced
    this.#request = { signal }
    this.#stopped.promise.catch(() => undefined)
    signal.addEventListener('abort', () => this.#stopped.reject(signal.reason), { once: true })
    this.#writer = new BulkWriter({
      // `external_gte`: also replaces the same version.
      send: async (documents) => {
        const body = encodeBulk(to.writeAliases, documents, 'external_gte')
        const outcomes = await sendBulk(elasticsearch, body, documents, this.#request)
        // While `to` serves, an indexer restores a missing write alias. Before, a missing one means that another rebuild has taken `to` over: throws.
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

  /** Higher versions in the new generation stay. Returns how many of these documents the old one has. */
  async copy(kind: DocumentKind, ids: readonly DocumentId[]): Promise<number> {
    const { elasticsearch, config } = this.#tools
    const isOfFormerLog = isList(kind) && this.#replaced.has(entityTypeOf(kind))
    let copied = 0
    for await (const documents of readWhole(elasticsearch, this.#from.indices[kind], ids, this.#request)) {
      const copies = documents.map((document) => {
        const copy = writeOf(kind, document)
        return isOfFormerLog ? { ...copy, source: asCarriedOver(copy.source) } : copy
      })
      await this.#write(copies.map((copy) => renewSearchMembers(copy, config.INDEX_ANSWERS)))
      copied += documents.length
    }
    return copied
  }

  /** Returns how many documents the new generation lacked. */
  async addMissing(documents: Documents): Promise<number> {
    let added = 0
    for (const kind of documentKinds) {
      const ofKind = documents.filter((document) => document.kind === kind)
      const stored = await this.storedStates(kind, ofKind.map(idOf))
      const missing = ofKind.filter(({ id }) => !stored.has(id))
      await this.#write(missing)
      added += missing.length
    }
    return added
  }

  /** By id; without documents that the new generation lacks. */
  async storedStates(kind: DocumentKind, ids: readonly DocumentId[]): Promise<ReadonlyMap<DocumentId, DocumentState>> {
    const members = isList(kind) ? ['digest', 'logPosition'] : []
    const index = this.#to.indices[kind]
    const documents = await multiGet(this.#tools.elasticsearch, index, ids, members, this.#request)
    return new Map(
      documents
        .filter((document) => document !== undefined)
        .map(({ id, version, source }) => {
          const list = (source === '' ? {} : JSON.parse(source)) as Pick<DocumentState, 'digest' | 'logPosition'>
          return [id, { id, version, digest: list.digest, logPosition: list.logPosition }]
        }),
    )
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
    for (const [number, outcome] of outcomes.entries())
      if (outcome.kind === 'rejected')
        throw new Error(`${documents[number]?.kind} ${documents[number]?.id} cannot be reconciled: ${outcome.reason}`)
  }
}

export const idOf = ({ id }: Pick<DocumentState, 'id'>): DocumentId => id

/** A stored source is on one line: so it is valid in a bulk request. */
const writeOf = (kind: DocumentKind, { id, version, source }: StoredDocument): DocumentWrite => ({
  kind,
  id,
  teamId: teamIdOf(id),
  version: version as Revision,
  source: Buffer.from(source),
})
