import type { Client } from '@elastic/elasticsearch'
import { type DocumentId, type Revision, teamIdOf } from '../../src/core/model/ids.ts'
import { type DocumentWrite, withChangedAt } from '../../src/core/stores/documents.ts'
import {
  type DocumentKind,
  documentKinds,
  entityTypeOf,
  kindsOf,
  type PhysicalIndex,
} from '../../src/core/stores/indices.ts'
import { multiGet } from '../../src/core/stores/readDocuments.ts'
import { bulkBounds, bulkQuestions, encodeBulk, sendBulk, type VersionType } from '../bulk/bulkApi.ts'
import { BulkWriter } from '../bulk/bulkWriter.ts'
import type { Outcome } from '../bulk/job.ts'
import { refreshEveryCopy } from '../refresh.ts'
import type { Generation } from './generations.ts'
import { readVersions, requestTimeoutMs, shardsOf, type Version, writtenVersions } from './versions.ts'

type ReconcileOptions = {
  readonly elasticsearch: Client
  /** A client that returns bytes. */
  readonly raw: Client
  readonly from: Generation
  readonly to: Generation
  /** Takes entities that only the old generation has, until it is known whether the topics still hold them. */
  readonly forgotten: { takes(kind: DocumentKind, id: DocumentId, version: number): boolean }
  readonly signal: AbortSignal
  onProgress(documents: number): void
  /** Called with the reason why documents cannot be written, and with null once they are written again. */
  onBlocked(reason: string | null): void
}

/** What came of comparing an old and a new index of one kind. */
export type Comparison = {
  /** Documents of the old index that were compared. */
  readonly documents: number
  /** Documents that were copied, because the new index had a lower version or none. */
  readonly reconciled: number
  /** Documents that have a higher version in the new index. */
  readonly newerInTarget: number
}

/** Each may be a megabyte or more. */
const sourcesPerRequest = 20

/**
 * Copies documents that are missing or older in the new generation from the old one. Compaction removes records that a rebuild
 * would need: tombstones after their retention, and a high revision that a late record with a lower one has replaced. Of equal
 * documents the later `changedAt` is kept: it depends on watermarks that only the indexers knew (see `ChangeTimes`). Of two contents
 * under one revision that of the old generation stays: compaction has removed its record, and the later one is a dead letter. Every pass
 * compares what was written since the pass before, by the sequence numbers of the shards.
 */
export class Reconciliation {
  readonly #options: ReconcileOptions
  /** `<index>/<shard>` → the highest sequence number that was compared. */
  readonly #compared = new Map<string, number>()
  readonly #copies: BulkWriter
  readonly #replacements: BulkWriter
  /** Rejects when the writer meets a bug, or the signal aborts. */
  readonly #stopped = Promise.withResolvers<never>()

  constructor(options: ReconcileOptions) {
    this.#options = options
    const { signal } = options
    this.#stopped.promise.catch(() => undefined)
    signal.addEventListener('abort', () => this.#stopped.reject(signal.reason), { once: true })
    this.#copies = this.#openWriter('external')
    this.#replacements = this.#openWriter('external_gte')
  }

  #openWriter(versionType: VersionType): BulkWriter {
    const { elasticsearch, to, signal, onBlocked } = this.#options
    const access = { timeoutMs: requestTimeoutMs, signal }
    return new BulkWriter({
      send: (documents) => sendBulk(elasticsearch, encodeBulk(to.indices, documents, versionType), documents, access),
      ...bulkQuestions(elasticsearch, to.indices, access),
      ...bulkBounds,
      maxConcurrentRequests: 1,
      maxRecordsPerSecond: undefined,
      elapsedMs: () => performance.now(),
      random: Math.random,
      signal,
      onBlocked: (trouble) => onBlocked(trouble?.reason ?? null),
      onFatal: this.#stopped.reject,
    })
  }

  /**
   * Compares what was written to the old generation since the last pass, and copies what is missing or older in the new one. Rejects if it
   * still is after that.
   */
  async pass(): Promise<Readonly<Record<DocumentKind, Comparison>>> {
    const { elasticsearch, from, to, signal } = this.#options
    const index = documentKinds.flatMap((kind) => [from.indices[kind], to.indices[kind]])
    // Any copy may answer the searches below, and what they miss no later pass compares.
    await refreshEveryCopy(elasticsearch, index, { signal, requestTimeout: requestTimeoutMs })
    const compared: [DocumentKind, Comparison][] = []
    for (const kind of documentKinds) compared.push([kind, await this.#passOf(kind)])
    return Object.fromEntries(compared) as Record<DocumentKind, Comparison>
  }

  async #passOf(kind: DocumentKind): Promise<Comparison> {
    const { elasticsearch, raw, from, signal, onProgress } = this.#options
    const index = from.indices[kind]
    const tally = { documents: 0, reconciled: 0, newerInTarget: 0 }
    for (const { shard, last } of await shardsOf(elasticsearch, index, signal)) {
      const shardName = `${index}/${shard}`
      const written = { shard, above: this.#compared.get(shardName) ?? -1, last }
      for await (const old of writtenVersions(raw, index, kind, written, signal)) {
        const { reconciled, newerInTarget } = await this.#compare(kind, old)
        tally.documents += old.length
        tally.reconciled += reconciled
        tally.newerInTarget += newerInTarget
        onProgress(old.length)
      }
      this.#compared.set(shardName, last)
    }
    return tally
  }

  /** Copies what is missing, older, of another content or of an earlier `changedAt` in the new index. */
  async #compare(kind: DocumentKind, old: readonly Version[]): Promise<Omit<Comparison, 'documents'>> {
    const known = await this.#versions(kind, old)
    const versionOf = (at: number): number => known[at]?.version ?? 0
    const missing = old.filter((each, at) => each.version > versionOf(at) && !this.#isTaken(kind, each, versionOf(at)))
    const others = old.filter(
      ({ version, digest }, at) => version === versionOf(at) && digest !== undefined && digest !== known[at]?.digest,
    )
    await this.copy(kind, missing.map(idOf))
    await this.#keepTimes(kind, old, known)
    for (let at = 0; at < others.length; at += sourcesPerRequest)
      await this.#replaceContents(kind, others.slice(at, at + sourcesPerRequest))
    const copied = await this.#versions(kind, missing)
    const lacking = missing.find(({ version }, at) => version > (copied[at]?.version ?? 0))
    if (lacking !== undefined) throw new Error(`${kind} differ after reconciliation: ${lacking.id}`)
    const newerInTarget = old.filter(({ version }, at) => version < versionOf(at)).length
    return { reconciled: missing.length, newerInTarget }
  }

  /** Whether a document that the new generation lacks waits until it is known whether the topics still hold its entity. */
  #isTaken(kind: DocumentKind, { id, version }: Version, known: number): boolean {
    return known === 0 && this.#options.forgotten.takes(kind, id, version)
  }

  /** Versions in the new index, in the order of the documents. */
  async #versions(kind: DocumentKind, documents: readonly Pick<Version, 'id'>[]): Promise<Version[]> {
    const { raw, to, signal } = this.#options
    return await readVersions(raw, to.indices[kind], kind, documents.map(idOf), signal)
  }

  /** Copies documents from the old generation; one that is not there, or has a higher version in the new one, is left out. */
  async copy(kind: DocumentKind, ids: readonly DocumentId[]): Promise<void> {
    for (let at = 0; at < ids.length; at += sourcesPerRequest) {
      const some = ids.slice(at, at + sourcesPerRequest)
      await this.#write(this.#copies, await this.#sources(this.#options.from.indices[kind], kind, some))
    }
  }

  /** Writes those of the documents that the new generation lacks; returns how many. */
  async addMissing(documents: readonly DocumentWrite[]): Promise<number> {
    let added = 0
    for (const kind of documentKinds) {
      const ofKind = documents.filter((each) => each.kind === kind)
      const known = await this.#versions(kind, ofKind)
      const missing = ofKind.filter((_, at) => known[at]?.version === 0)
      await this.#write(this.#copies, missing)
      added += missing.length
    }
    return added
  }

  /** Gives list documents of the new generation times that are not below these. What they say stays. */
  async raiseTimes(kind: DocumentKind, times: readonly Version[]): Promise<void> {
    await this.#keepTimes(kind, times, await this.#versions(kind, times))
  }

  /** Gives entities of the new generation the list and detail documents of the old one. */
  async #replaceContents(kind: DocumentKind, lists: readonly Version[]): Promise<void> {
    const { from } = this.#options
    for (const each of kindsOf[entityTypeOf(kind)])
      await this.#write(this.#replacements, await this.#sources(from.indices[each], each, lists.map(idOf)))
  }

  /** Gives documents of the new index, which are `known`, the later times of others with the same version. */
  async #keepTimes(kind: DocumentKind, others: readonly Version[], known: readonly Version[]): Promise<void> {
    const later = others.filter(
      ({ version, changedAt = '' }, at) => version === known[at]?.version && changedAt > (known[at]?.changedAt ?? ''),
    )
    for (let at = 0; at < later.length; at += sourcesPerRequest) {
      const times = new Map(later.slice(at, at + sourcesPerRequest).map(({ id, changedAt }) => [id, changedAt]))
      const sources = await this.#sources(this.#options.to.indices[kind], kind, [...times.keys()])
      const changed = sources.flatMap((each) => {
        const changedAt = times.get(each.id)
        return changedAt === undefined ? [] : [{ ...each, source: withChangedAt(each.source, changedAt) }]
      })
      await this.#write(this.#replacements, changed)
    }
  }

  /** Reads whole documents; one that is not there is left out. */
  async #sources(index: PhysicalIndex, kind: DocumentKind, ids: readonly DocumentId[]): Promise<DocumentWrite[]> {
    const { raw, signal } = this.#options
    const found = await multiGet(raw, index, ids, undefined, { signal, requestTimeout: requestTimeoutMs })
    return found.flatMap((each): DocumentWrite[] => {
      if (each === undefined) return []
      const { id, version } = each
      // A line of a bulk request has no line breaks. Tabs stay: they delimit summaries.
      const source = Buffer.from(each.source.replace(/[\n\r]/g, ''))
      return [{ kind, id, teamId: teamIdOf(id), version: version as Revision, source }]
    })
  }

  async #write(writer: BulkWriter, documents: readonly DocumentWrite[]): Promise<void> {
    const stored = documents.map(
      (each) =>
        new Promise<Outcome>((done) => {
          const name = (): string => `${each.kind} ${each.id}`
          writer.submit({ documents: [each], version: each.version, isCompared: false, name, done })
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
