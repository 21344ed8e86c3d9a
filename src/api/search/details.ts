import { z } from 'zod'
import { isTombstone } from '../../core/elasticsearch/documentFormat.ts'
import { kindsOf } from '../../core/elasticsearch/indices.ts'
import { rawElements, rawMembers } from '../../core/json/rawJson.ts'
import { type DocumentId, documentId, type EntityId, isIdentifier } from '../../core/model/ids.ts'
import { expectCount, parse } from './hits.ts'
import { ElasticsearchUnavailable, noCopyReason, overloads, requestShard, type SearchedList } from './searchClient.ts'

/** As of the last refresh: a read in real time could show a change that the next list does not show yet. `id` may be any text. */
export async function readDetail(list: SearchedList, id: string, signal: AbortSignal): Promise<Buffer | undefined> {
  if (!isIdentifier(id)) return undefined
  const [detail] = await readDetails(list, [id as EntityId], false, signal)
  return detail instanceof Buffer ? detail : undefined
}

/** `deleted`: a tombstone is stored. `missing`: nothing is stored. */
export type Detail = Buffer | 'deleted' | 'missing'

/** In the order of `ids`. */
export async function readDetails(
  list: SearchedList,
  ids: readonly EntityId[],
  isRealtime: boolean,
  signal: AbortSignal,
): Promise<readonly Detail[]> {
  const [, detailKind] = kindsOf[list.type]
  const documentIds = ids.map((id) => documentId(list.teamId, id))
  let details: readonly Detail[] = []
  // In `check`, so that `readPrimaries.ts` repeats the request when the shard has moved.
  const check = (bytes: Buffer): void => {
    details = splitDocuments(bytes, documentIds.length).map((document, index) =>
      readDocument(document, detailKind, documentIds[index]),
    )
  }
  const request = { api: '_mget', querystring: { realtime: isRealtime }, body: { ids: documentIds }, check }
  await requestShard(list, detailKind, request, signal)
  return details
}

// A response: {"docs":[{"_index":"…","_id":"…",…,"found":true,"_source":{…}},{"_index":"…","_id":"…","found":false}]}
const responseStart = '{"docs":['
const documentStart = '{"_index":'
const sourceStart = ',"_source":'

/** Splits without parsing, at each `documentStart`. If a source contains this text, too, scans the response as JSON. */
function splitDocuments(bytes: Buffer, count: number): readonly Buffer[] {
  const starts: number[] = []
  let start = bytes.indexOf(documentStart)
  while (start !== -1) {
    starts.push(start)
    start = bytes.indexOf(documentStart, start + 1)
  }
  const isPlain = starts.length === count && starts[0] === responseStart.length
  const documents = isPlain ? splitAt(starts, bytes) : scanDocuments(bytes.toString())
  return expectCount(count, documents)
}

const splitAt = (starts: readonly number[], bytes: Buffer): readonly Buffer[] =>
  starts.map((start, index) => {
    const nextStart = starts[index + 1]
    return bytes.subarray(start, nextStart === undefined ? -']}'.length : nextStart - ','.length)
  })

/** `rawElements` and `rawMembers` require valid JSON. */
const scanDocuments = (text: string): readonly Buffer[] =>
  parse(text) === undefined
    ? []
    : rawElements(rawMembers(text).get('docs') ?? '[]').map((document) => Buffer.from(document))

const foundSchema = z.object({ _id: z.string(), found: z.boolean() })
const failedSchema = z.object({ error: z.object({ type: z.string(), reason: z.string().nullish() }) })

/** The members before `_source` cannot contain `sourceStart`: its first occurrence begins the source. */
function readDocument(document: Buffer, kind: string, expectedId: DocumentId | undefined): Detail {
  const sourceAt = document.indexOf(sourceStart)
  const hasSource = sourceAt !== -1
  const withoutSource = parse(hasSource ? `${document.toString('latin1', 0, sourceAt)}}` : document.toString())
  const { success, data } = foundSchema.safeParse(withoutSource)
  if (!success) {
    const { type, reason } = failedSchema.safeParse(withoutSource).data?.error ?? { type: 'without a reason' }
    if (type === 'index_not_found_exception') throw new ElasticsearchUnavailable('missing-index', kind)
    const hasNoCopy = type === 'no_shard_available_action_exception' || reason?.startsWith(noCopyReason)
    const unavailableReason = overloads.has(type) ? 'overloaded' : hasNoCopy ? 'no-copy' : 'partial'
    throw new ElasticsearchUnavailable(unavailableReason, `${kind}: ${type}`)
  }
  if (data._id !== expectedId) throw new ElasticsearchUnavailable('partial', `${kind}: an answer for another document`)
  if (!data.found || !hasSource) return 'missing'
  const source = document.subarray(sourceAt + sourceStart.length, -1)
  return isTombstone(source) ? 'deleted' : source
}
