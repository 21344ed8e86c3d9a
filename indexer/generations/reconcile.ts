import type { Client } from '@elastic/elasticsearch'
import { onOneLine, rawElements, rawMembers } from '../../src/core/json/rawJson.ts'
import type { DocumentId, Revision } from '../../src/core/model/ids.ts'
import type { Instant } from '../../src/core/model/instant.ts'
import { type DocumentWrite, withChangedAt } from '../../src/core/stores/documents.ts'
import { type DocumentKind, documentKinds, type PhysicalIndex } from '../../src/core/stores/indices.ts'
import { bulkBounds, encodeBulk, readStored, sendBulk, type VersionType } from '../bulk/bulkApi.ts'
import { BulkWriter } from '../bulk/bulkWriter.ts'
import type { Outcome } from '../bulk/job.ts'
import { refreshEveryCopy } from '../refresh.ts'
import type { Generation } from './generations.ts'
import type { Comparison } from './rebuildOptions.ts'
import {
  addFingerprint,
  fieldsOf,
  idOf,
  isList,
  kindsOf,
  type ListSource,
  listMembers,
  requestTimeoutMs,
  shardsOf,
  teamOf,
  timeFields,
  type Version,
} from './versions.ts'

type ReconcileOptions = {
  readonly elasticsearch: Client
  /** A client that returns response bodies as text. */
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

const keepAlive = '2m'
const idsPerRequest = 2_000
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
      readStored: (records) => readStored(elasticsearch, to.indices, records, access),
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

  /** Compares what was written to the old generation since the last pass, and copies what is missing or older in the new one. */
  async pass(): Promise<Readonly<Record<DocumentKind, Comparison>>> {
    const { elasticsearch, from, to, signal } = this.#options
    const index = documentKinds.flatMap((kind) => [from.indices[kind], to.indices[kind]])
    // Any copy may answer the searches below, and what they miss no later pass compares.
    await refreshEveryCopy(elasticsearch, index, { signal, requestTimeout: requestTimeoutMs })
    const compared: [DocumentKind, Comparison][] = []
    for (const kind of documentKinds) compared.push([kind, await this.#passOf(kind)])
    return Object.fromEntries(compared) as Record<DocumentKind, Comparison>
  }

  /** Gives list documents of the new generation times that are not below these. What they say stays. */
  async raiseTimes(kind: DocumentKind, times: readonly Version[]): Promise<void> {
    await this.#keepTimes(kind, times, await this.#versions(kind, times))
  }

  async #passOf(kind: DocumentKind): Promise<Comparison> {
    const { from, onProgress } = this.#options
    const tally = { documents: 0, reconciled: 0, newerInTarget: 0 }
    const sums = { old: 0, new: 0 }
    for (const { shard, last } of await shardsOf(
      this.#options.elasticsearch,
      from.indices[kind],
      this.#options.signal,
    )) {
      const shardName = `${from.indices[kind]}/${shard}`
      for await (const old of this.#written(kind, shard, this.#compared.get(shardName) ?? -1, last)) {
        const known = await this.#compare(kind, old, tally)
        old.forEach((each, at) => {
          const version = known[at]?.version ?? 0
          if (version > each.version || this.#isTaken(kind, each, version)) return
          sums.old = addFingerprint(sums.old, each)
          sums.new = addFingerprint(sums.new, { ...each, version })
        })
        onProgress(old.length)
      }
      this.#compared.set(shardName, last)
    }
    return { ...tally, checksum: { old: sums.old.toString(16), new: sums.new.toString(16) } }
  }

  /** Copies what is missing, older or of an earlier `changedAt` in the new index; returns the versions there afterwards. */
  async #compare(
    kind: DocumentKind,
    old: readonly Version[],
    tally: { documents: number; reconciled: number; newerInTarget: number },
  ): Promise<Version[]> {
    const known = await this.#versions(kind, old)
    const missing = old.filter((each, at) => {
      const version = known[at]?.version ?? 0
      return each.version > version && !this.#isTaken(kind, each, version)
    })
    tally.documents += old.length
    tally.reconciled += missing.length
    tally.newerInTarget += old.filter(({ version }, at) => version < (known[at]?.version ?? 0)).length
    const others = old.filter(
      ({ version, digest }, at) =>
        version === known[at]?.version && digest !== undefined && digest !== known[at]?.digest,
    )
    await this.copy(kind, missing.map(idOf))
    await this.#keepTimes(kind, old, known)
    for (let at = 0; at < others.length; at += sourcesPerRequest)
      await this.#replaceContents(kind, others.slice(at, at + sourcesPerRequest))
    if (missing.length === 0) return known
    return await this.#versions(kind, old)
  }

  /** Ids and versions of what was written to a shard above one sequence number, up to and including another. */
  async *#written(kind: DocumentKind, shard: number, above: number, last: number): AsyncGenerator<Version[]> {
    if (last <= above) return
    const { elasticsearch, from, signal } = this.#options
    const index = from.indices[kind]
    const options = { signal, requestTimeout: requestTimeoutMs }
    const opened = await elasticsearch.openPointInTime(
      { index, preference: `_shards:${shard}`, keep_alive: keepAlive },
      options,
    )
    let id = opened.id
    try {
      for (let after: unknown[] | undefined; ; ) {
        const answer = await elasticsearch.search(
          {
            pit: { id, keep_alive: keepAlive },
            query: { range: { _seq_no: { gt: above, lte: last } } },
            sort: ['_shard_doc'],
            ...(after !== undefined && { search_after: after as string[] }),
            size: idsPerRequest,
            version: true,
            _source: false,
            docvalue_fields: fieldsOf(kind),
            track_total_hits: false,
            allow_partial_search_results: false,
          },
          options,
        )
        id = answer.pit_id ?? id
        const { hits } = answer.hits
        if (hits.length === 0) return
        yield hits.map((hit) => {
          const [changedAt] = timeFields.flatMap((field): Instant[] => hit.fields?.[field] ?? [])
          const digest = hit.fields?.['digest']?.[0]
          return { id: (hit._id ?? '') as DocumentId, version: hit._version ?? 0, changedAt, digest }
        })
        after = hits.at(-1)?.sort
      }
    } finally {
      await elasticsearch.closePointInTime({ id }).catch(() => undefined)
    }
  }

  /** Versions in the new index, in the order of the documents; 0 for one that is not there. */
  async #versions(kind: DocumentKind, documents: readonly Pick<Version, 'id'>[]): Promise<Version[]> {
    const { elasticsearch, to, signal } = this.#options
    const _source = isList(kind) ? listMembers : false
    const answer = await elasticsearch.mget<ListSource>(
      { index: to.indices[kind], docs: documents.map(({ id }) => ({ _id: id, routing: teamOf(id), _source })) },
      { signal, requestTimeout: requestTimeoutMs },
    )
    return answer.docs.map((found, at) => {
      if ('error' in found) throw new Error(`${to.indices[kind]} cannot be asked for ${documents[at]?.id}`)
      const { changedAt, tombstone, digest } = found._source ?? {}
      const version = found.found ? (found._version ?? 0) : 0
      return { id: found._id as DocumentId, version, changedAt: changedAt ?? tombstone?.deletedAt, digest }
    })
  }

  /** Whether a document that the new generation lacks waits until it is known whether the topics still hold its entity. */
  #isTaken(kind: DocumentKind, { id, version }: Version, known: number): boolean {
    return known === 0 && this.#options.forgotten.takes(kind, id, version)
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
      if (ofKind.length === 0) continue
      const known = await this.#versions(kind, ofKind)
      const missing = ofKind.filter((_, at) => known[at]?.version === 0)
      await this.#write(this.#copies, missing)
      added += missing.length
    }
    return added
  }

  /** Gives entities of the new generation the list and detail documents of the old one. */
  async #replaceContents(kind: DocumentKind, lists: readonly Version[]): Promise<void> {
    const { from } = this.#options
    for (const each of kindsOf(kind))
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
    const text = await raw.transport.request<string>(
      {
        method: 'POST',
        path: `/${index}/_mget`,
        body: { docs: ids.map((id) => ({ _id: id, routing: teamOf(id) })) },
      },
      { signal, requestTimeout: requestTimeoutMs },
    )
    return rawElements(rawMembers(text).get('docs') ?? '[]').flatMap((found): DocumentWrite[] => {
      const members = rawMembers(found)
      const [id, version, source] = [members.get('_id'), members.get('_version'), members.get('_source')]
      if (id === undefined || version === undefined || source === undefined) return []
      const name = JSON.parse(id) as DocumentId
      const stored = Buffer.from(onOneLine(source))
      return [{ kind, id: name, teamId: teamOf(name), version: Number(version) as Revision, source: stored }]
    })
  }

  async #write(writer: BulkWriter, documents: readonly DocumentWrite[]): Promise<void> {
    const stored = documents.map(
      (each) =>
        new Promise<Outcome>((done) => {
          const place = (): string => `${each.kind} ${each.id}`
          writer.submit({ documents: [each], version: each.version, isCompared: false, place, done })
        }),
    )
    const outcomes = await Promise.race([Promise.all(stored), this.#stopped.promise])
    outcomes.forEach((outcome, at) => {
      if (outcome.kind === 'rejected')
        throw new Error(`${documents[at]?.kind} ${documents[at]?.id} cannot be reconciled: ${outcome.reason}`)
    })
  }
}
