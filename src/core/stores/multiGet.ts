import type { Client } from '@elastic/elasticsearch'
import { rawElements, rawMembers } from '../json/rawJson.ts'
import { type DocumentId, teamIdOf } from '../model/ids.ts'
import { type RawBody, textOf } from './elasticsearch.ts'
import type { PhysicalIndex } from './indices.ts'

/** A document as an index holds it. */
export type StoredDocument = {
  readonly id: DocumentId
  readonly version: number
  /** JSON text: the whole source as it was sent, or the members that were asked for; empty when none were. */
  readonly source: string
}

/**
 * Reads documents of an index as they are now, searchable or not, in the order of `ids`; undefined for one that is not there. `members`
 * are those of their sources that are wanted; all of them if it is undefined. Rejects unless every document can be asked for. `raw` is a
 * client that returns bytes.
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
  const body = await raw.transport.request<RawBody>(
    { method: 'POST', path: `/${index}/_mget`, body: { docs } },
    options,
  )
  const found = rawElements(rawMembers(textOf(body)).get('docs') ?? '').map(rawMembers)
  return ids.map((id, at) => {
    const document = found[at]
    if (document?.get('_id') !== JSON.stringify(id) || document.has('error'))
      throw new Error(`${index} cannot be asked for ${id}`)
    if (document.get('found') !== 'true') return undefined
    return { id, version: Number(document.get('_version')), source: document.get('_source') ?? '' }
  })
}
