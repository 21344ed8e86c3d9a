import { z } from 'zod'
import { isTombstone } from '../../core/elasticsearch/documentFormat.ts'
import { kindsOf } from '../../core/elasticsearch/indices.ts'
import { rawElements, rawMembers } from '../../core/json/rawJson.ts'
import { type DocumentId, documentId, type EntityId, isIdentifier } from '../../core/model/ids.ts'
import { expectCount, parse } from './hits.ts'
import { ElasticsearchUnavailable, noCopyReason, overloads, requestShard, type SearchedList } from './searchClient.ts'

/**
 * The detail as of the last refresh; undefined if the entity does not exist. A read in real time could show a client a change that the next list does
 * not show yet.
 */
export async function readDetail(list: SearchedList, id: string, signal: AbortSignal): Promise<Buffer | undefined> {
  if (!isIdentifier(id)) return undefined
  const [detail] = await readDetails(list, [id as EntityId], false, signal)
  return detail instanceof Buffer ? detail : undefined
}

export type Detail = Buffer | 'deleted' | 'missing'

/** In the order of `ids`; as of the last refresh, or with `isRealtime` in real time. */
export async function readDetails(
  list: SearchedList,
  ids: readonly EntityId[],
  isRealtime: boolean,
  signal: AbortSignal,
): Promise<readonly Detail[]> {
  const [, kind] = kindsOf[list.type]
  const documentIds = ids.map((id) => documentId(list.teamId, id))
  let details: readonly Detail[] = []
  const check = (bytes: Buffer): void => {
    details = splitDocuments(bytes, documentIds.length).map((document, at) =>
      readDocument(document, kind, documentIds[at]),
    )
  }
  const request = { api: '_mget', querystring: { realtime: isRealtime }, body: { ids: documentIds }, check }
  await requestShard(list, kind, request, signal)
  return details
}

const answerStart = '{"docs":['
const documentStart = '{"_index":'
const sourceStart = ',"_source":'

/**
 * Splits an `_mget` response without parsing it, at the text that begins each document's envelope. If this text occurs more often, a source contains
 * it, and the response is scanned as JSON.
 */
function splitDocuments(bytes: Buffer, count: number): readonly Buffer[] {
  const starts: number[] = []
  for (let at = bytes.indexOf(documentStart); at !== -1; at = bytes.indexOf(documentStart, at + 1)) starts.push(at)
  const isPlain = starts.length === count && starts[0] === answerStart.length
  const documents = isPlain
    ? starts.map((start, at) => bytes.subarray(start, (starts[at + 1] ?? bytes.length - 1) - 1))
    : scanDocuments(bytes.toString())
  return expectCount(count, documents)
}

/** Empty if the text is no JSON: `rawElements` and `rawMembers` require valid JSON. */
const scanDocuments = (text: string): readonly Buffer[] =>
  parse(text) === undefined
    ? []
    : rawElements(rawMembers(text).get('docs') ?? '[]').map((document) => Buffer.from(document))

const foundSchema = z.object({ _id: z.string(), found: z.boolean() })
const failedSchema = z.object({ error: z.object({ type: z.string(), reason: z.string().nullish() }) })

/** Nothing that precedes `_source` in a document's envelope can contain `sourceStart`, so its first occurrence is the envelope's. */
function readDocument(document: Buffer, kind: string, expectedId: DocumentId | undefined): Detail {
  const sourceAt = document.indexOf(sourceStart)
  const envelope = parse(sourceAt === -1 ? document.toString() : `${document.toString('latin1', 0, sourceAt)}}`)
  const { success, data } = foundSchema.safeParse(envelope)
  if (!success) {
    const { type, reason } = failedSchema.safeParse(envelope).data?.error ?? { type: 'without a reason' }
    if (type === 'index_not_found_exception') throw new ElasticsearchUnavailable('missing-index', kind)
    const hasNoCopy = type === 'no_shard_available_action_exception' || reason?.startsWith(noCopyReason)
    const unavailableReason = overloads.has(type) ? 'overloaded' : hasNoCopy ? 'no-copy' : 'partial'
    throw new ElasticsearchUnavailable(unavailableReason, `${kind}: ${type}`)
  }
  if (data._id !== expectedId) throw new ElasticsearchUnavailable('partial', `${kind}: an answer for another document`)
  if (!data.found || sourceAt === -1) return 'missing'
  const source = document.subarray(sourceAt + sourceStart.length, -1)
  return isTombstone(source) ? 'deleted' : source
}
