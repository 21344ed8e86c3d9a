import type { Client, estypes } from '@elastic/elasticsearch'
import type { TransportRequestParams } from '@elastic/transport'
import { rawElements, rawMembers } from '../json/rawJson.ts'
import { type DocumentId, teamIdOf } from '../model/ids.ts'
import { asBytes, defaultRequestTimeoutMs, type RequestOptions } from './elasticsearch.ts'
import type { PhysicalIndex } from './indices.ts'

export type StoredDocument = {
  readonly id: DocumentId
  readonly version: number
  /** JSON: the source as it was indexed, or its requested members; empty if none were requested. */
  readonly source: string
  /** JSON of the `docvalue_fields` of a scan; empty without any. */
  readonly fields: string
  /** NaN in a scan, which does not request it. */
  readonly seqNo: number
}

/** Parsing the answer would reorder names and lose digits. */
async function textOf(client: Client, request: TransportRequestParams, options: RequestOptions): Promise<string> {
  const bytes = await client.transport.request<Uint8Array>(request, { ...options, ...asBytes(client) })
  return Buffer.from(bytes).toString()
}

const documentOf = (hit: ReadonlyMap<string, string>): StoredDocument => ({
  id: JSON.parse(hit.get('_id') ?? '""') as DocumentId,
  version: Number(hit.get('_version')),
  source: hit.get('_source') ?? '',
  fields: hit.get('fields') ?? '',
  seqNo: Number(hit.get('_seq_no')),
})

/**
 * Reads documents in real time, in the order of `ids`; undefined for a missing one. `members`: of the source; undefined for all. Rejects if any document cannot
 * be read, as when its shard is away.
 */
export async function multiGet(
  client: Client,
  index: PhysicalIndex,
  ids: readonly DocumentId[],
  members: readonly string[] | undefined,
  options: RequestOptions,
): Promise<(StoredDocument | undefined)[]> {
  if (ids.length === 0) return []
  const source = members === undefined ? {} : { _source: members.length > 0 && members }
  const docs = ids.map((id) => ({ _id: id, routing: teamIdOf(id), ...source }))
  const request = { method: 'POST', path: `/${index}/_mget`, body: { docs } }
  const text = await textOf(client, request, options)
  const documents = rawElements(rawMembers(text).get('docs') ?? '').map(rawMembers)
  return ids.map((id, at) => {
    const document = documents[at]
    if (document?.get('_id') !== JSON.stringify(id) || document.has('error'))
      throw new Error(`Elasticsearch cannot read ${id} from ${index}`)
    return document.get('found') === 'true' ? documentOf(document) : undefined
  })
}

/** Each whole source may be a megabyte or more. */
const wholePerRequest = 20

/** Like `multiGet`, but leaves out missing documents. */
export async function* readWhole(
  client: Client,
  index: PhysicalIndex,
  ids: readonly DocumentId[],
  options: RequestOptions,
): AsyncGenerator<StoredDocument[]> {
  for (let at = 0; at < ids.length; at += wholePerRequest) {
    const documents = await multiGet(client, index, ids.slice(at, at + wholePerRequest), undefined, options)
    yield documents.filter((document) => document !== undefined)
  }
}

/** `size`: the most documents in a part. */
type ScanQuery = Pick<estypes.SearchRequest, 'query' | 'slice' | 'preference' | '_source' | 'docvalue_fields'> & {
  size: number
}

/** A point in time expires this long after its last request. */
const keepAlive = '2m'
const partBytes = 1024 * 1024
const firstSize = 10

/**
 * Yields all matching documents at one point in time, unordered, in parts of about a megabyte and at most `size` documents. Without sources, only `size` bounds
 * the first part.
 */
export async function* scan(
  client: Client,
  index: PhysicalIndex,
  { preference, size: maxSize, ...query }: ScanQuery,
  options: RequestOptions,
): AsyncGenerator<StoredDocument[]> {
  const querystring = { keep_alive: keepAlive, ...(preference !== undefined && { preference }) }
  const opened = await textOf(client, { method: 'POST', path: `/${index}/_pit`, querystring }, options)
  let { id } = JSON.parse(opened) as { id: string }
  let size = query._source === false ? maxSize : Math.min(maxSize, firstSize)
  try {
    for (let after: unknown; ; ) {
      const body = {
        ...query,
        size,
        version: true,
        track_total_hits: false,
        pit: { id, keep_alive: keepAlive },
        sort: ['_shard_doc'],
        ...(after !== undefined && { search_after: after }),
      }
      const search = { method: 'POST', path: '/_search', querystring: { allow_partial_search_results: false }, body }
      const text = await textOf(client, search, options)
      const answer = rawMembers(text)
      id = JSON.parse(answer.get('pit_id') ?? JSON.stringify(id)) as string
      const rawHits = rawMembers(answer.get('hits') ?? '').get('hits')
      if (rawHits === undefined) throw new Error(`Elasticsearch answered a search of ${index} without hits`)
      const hits = rawElements(rawHits).map(rawMembers)
      if (hits.length > 0) yield hits.map(documentOf)
      if (hits.length < size) return
      after = JSON.parse(hits.at(-1)?.get('sort') ?? 'null')
      size = Math.min(maxSize, nextSize(hits.length, text.length))
    }
  } finally {
    const closing = { signal: AbortSignal.timeout(defaultRequestTimeoutMs) }
    // Otherwise it expires after `keepAlive`.
    await client.transport.request({ method: 'DELETE', path: '/_pit', body: { id } }, closing).catch(() => undefined)
  }
}

/** As many of the last part's average size as fill a part, but at most twice as many as in the last part. */
export const nextSize = (documents: number, bytes: number): number =>
  Math.max(1, Math.min(2 * documents, Math.floor((documents * partBytes) / bytes)))
