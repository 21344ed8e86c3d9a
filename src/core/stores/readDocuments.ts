import type { Client } from '@elastic/elasticsearch'
import { rawElements, rawMembers } from '../json/rawJson.ts'
import { type DocumentId, teamIdOf } from '../model/ids.ts'
import { parsedBody, textOf } from './elasticsearch.ts'
import type { PhysicalIndex } from './indices.ts'

/** A document as an index holds it. */
export type StoredDocument = {
  readonly id: DocumentId
  readonly version: number
  /** JSON text: the whole source as it was sent, or the members that were asked for; empty when none were. */
  readonly source: string
}

/**
 * Reads documents of an index as they are now, searchable or not, in the order of `ids`; undefined for one that is not there. `members` of
 * their sources are wanted, or all. Rejects unless every document can be asked for. `raw` is a client that returns bytes.
 */
export async function multiGet(
  raw: Client,
  index: PhysicalIndex,
  ids: readonly DocumentId[],
  members: readonly string[] | undefined,
  options: { readonly signal: AbortSignal; readonly requestTimeout: number },
): Promise<(StoredDocument | undefined)[]> {
  if (ids.length === 0) return []
  const wanted = members === undefined ? {} : { _source: members.length > 0 && members }
  const docs = ids.map((id) => ({ _id: id, routing: teamIdOf(id), ...wanted }))
  const request = { method: 'POST', path: `/${index}/_mget`, body: { docs } }
  const body = await raw.transport.request<Uint8Array>(request, options)
  const found = rawElements(rawMembers(textOf(body)).get('docs') ?? '').map(rawMembers)
  return ids.map((id, at) => {
    const document = found[at]
    if (document?.get('_id') !== JSON.stringify(id) || document.has('error'))
      throw new Error(`${index} cannot be asked for ${id}`)
    if (document.get('found') !== 'true') return undefined
    return { id, version: Number(document.get('_version')), source: document.get('_source') ?? '' }
  })
}

type ScanQuery = {
  readonly query: object
  readonly preference?: string
  readonly _source?: boolean
  readonly docvalue_fields?: readonly object[]
  /** The most documents of one part. */
  readonly size: number
}

/** A document as an index held it at the moment of the scan; `fields` is JSON text, empty when no fields were asked for. */
type ScannedDocument = StoredDocument & { readonly fields: string }

/** How long a point in time lives after its last part. */
const keepAlive = '2m'
const partBytes = 1024 * 1024
/** Before it is known how large sources are. */
const firstSize = 10

/**
 * Walks all documents of an index that match, in one point in time, in parts of about a megabyte and in no particular order. Rejects
 * unless every shard answers. `raw` is a client that returns bytes.
 */
export async function* scan(
  raw: Client,
  index: PhysicalIndex,
  { preference, size: maxSize, ...asked }: ScanQuery,
  options: { readonly signal: AbortSignal; readonly requestTimeout: number },
): AsyncGenerator<ScannedDocument[]> {
  const post = (path: string, querystring: object, body?: object): Promise<Uint8Array> =>
    raw.transport.request<Uint8Array>(
      { method: 'POST', path, querystring, ...(body !== undefined && { body }) },
      options,
    )
  const opening = { keep_alive: keepAlive, ...(preference !== undefined && { preference }) }
  let { id } = parsedBody<{ id: string }>(await post(`/${index}/_pit`, opening))
  let size = asked._source === false ? maxSize : Math.min(maxSize, firstSize)
  try {
    for (let after: unknown; ; ) {
      const body = {
        ...{ ...asked, size, version: true, track_total_hits: false, pit: { id, keep_alive: keepAlive } },
        ...{ sort: ['_shard_doc'], ...(after !== undefined && { search_after: after }) },
      }
      const text = textOf(await post('/_search', { allow_partial_search_results: false }, body))
      const answer = rawMembers(text)
      id = JSON.parse(answer.get('pit_id') ?? JSON.stringify(id)) as string
      const found = rawMembers(answer.get('hits') ?? '').get('hits')
      // No hits at all would look like the end.
      if (found === undefined) throw new Error(`Elasticsearch answers a search of ${index} without hits`)
      const hits = rawElements(found).map(rawMembers)
      if (hits.length > 0) yield hits.map(documentOf)
      if (hits.length < size) return
      after = JSON.parse(hits.at(-1)?.get('sort') ?? 'null')
      size = Math.min(maxSize, nextSize(hits.length, text.length))
    }
  } finally {
    const { requestTimeout } = options
    const closing = { signal: AbortSignal.timeout(requestTimeout), requestTimeout }
    // Elasticsearch closes it by itself when this fails.
    await raw.transport.request({ method: 'DELETE', path: '/_pit', body: { id } }, closing).catch(() => undefined)
  }
}

const documentOf = (hit: ReadonlyMap<string, string>): ScannedDocument => ({
  id: JSON.parse(hit.get('_id') ?? '""') as DocumentId,
  version: Number(hit.get('_version')),
  source: hit.get('_source') ?? '',
  fields: hit.get('fields') ?? '',
})

/** As many documents as fill a part when they are like the last ones, but never more than twice as many as those. */
export const nextSize = (documents: number, bytes: number): number =>
  Math.max(1, Math.min(2 * documents, Math.floor((documents * partBytes) / bytes)))
