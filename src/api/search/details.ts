import { z } from 'zod'
import { rawElements, rawMembers } from '../../core/json/rawJson.ts'
import { type DocumentId, documentId, type EntityId, isIdentifier, type TeamId } from '../../core/model/ids.ts'
import type { EntityType } from '../../core/model/teamList.ts'
import { isTombstone } from '../../core/stores/documents.ts'
import { aliasOf } from '../../core/stores/indices.ts'
import { parse } from './hits.ts'
import { classifyErrorResponse, ElasticsearchUnavailable, type SearchClient, teamShard } from './searchClient.ts'

/** The error type of a document that is missing in an existing index. */
const missingDocument = '"type":"resource_not_found_exception"'

/**
 * The stored detail of an entity of the team, as raw bytes; undefined if there is none, if it was deleted, and for text that is no
 * valid id. It is as new as what a search finds: before the refresh, a client could see a change here and miss it in its next
 * answer. Rejects with `ElasticsearchUnavailable`.
 */
export async function readDetail(
  { indexPrefix, send }: SearchClient,
  kind: 'form-details' | 'submission-details',
  teamId: TeamId,
  id: string,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  if (!isIdentifier(id)) return undefined
  const path = `/${aliasOf(indexPrefix, kind)}/_source/${encodeURIComponent(documentId(teamId, id as EntityId))}`
  const querystring = { ...teamShard(teamId), realtime: false }
  const { isFound, bytes } = await send({ method: 'GET', path, querystring }, signal)
  if (isFound) return isTombstone(bytes) ? undefined : bytes
  if (bytes.includes(missingDocument)) return undefined
  throw new ElasticsearchUnavailable('missing-index', kind)
}

/** The stored detail of an entity as raw bytes, or why there is none. */
export type Detail = Buffer | 'deleted' | 'missing'

/** The kind of documents that hold the details of an entity. */
export const detailKinds = { forms: 'form-details', submissions: 'submission-details' } as const satisfies Readonly<
  Record<EntityType, string>
>

/**
 * The details of several entities of the team, in the order of `ids`. They are as new as what a search finds, or with `isRealtime`
 * as what is stored. Rejects with `ElasticsearchUnavailable`.
 */
export async function readDetails(
  { indexPrefix, send }: SearchClient,
  kind: (typeof detailKinds)[EntityType],
  teamId: TeamId,
  ids: readonly EntityId[],
  isRealtime: boolean,
  signal: AbortSignal,
): Promise<readonly Detail[]> {
  const names = ids.map((id) => documentId(teamId, id))
  const { isFound, bytes } = await send(
    {
      method: 'POST',
      path: `/${aliasOf(indexPrefix, kind)}/_mget`,
      querystring: { ...teamShard(teamId), realtime: isRealtime },
      body: { ids: names },
    },
    signal,
  )
  if (!isFound) throw new ElasticsearchUnavailable('missing-index', kind)
  return splitDocuments(bytes, names.length).map((document, at) => readDocument(document, kind, names[at]))
}

const answerStart = '{"docs":['
const documentStart = '{"_index":'
const sourceStart = ',"_source":'

/**
 * The documents of an `_mget` response, each with its envelope. They are found by how an envelope begins, without parsing: when that text
 * occurs as often as there are documents, it occurs nowhere else. Otherwise a source holds it, too, and the response is scanned as JSON.
 */
function splitDocuments(bytes: Buffer, count: number): readonly Buffer[] {
  const starts: number[] = []
  for (let at = bytes.indexOf(documentStart); at !== -1; at = bytes.indexOf(documentStart, at + 1)) starts.push(at)
  const isPlain = starts.length === count && starts[0] === answerStart.length
  const documents = isPlain
    ? starts.map((start, at) => bytes.subarray(start, (starts[at + 1] ?? bytes.length - 1) - 1))
    : scanDocuments(bytes.toString())
  if (documents.length === count) return documents
  throw new ElasticsearchUnavailable('partial', `${documents.length} answers for ${count} details`)
}

/** The raw functions expect valid JSON. */
const scanDocuments = (text: string): readonly Buffer[] =>
  parse(text) === undefined ? [] : rawElements(rawMembers(text).get('docs') ?? '[]').map((each) => Buffer.from(each))

const foundSchema = z.object({ _id: z.string(), found: z.boolean() })
const failedSchema = z.object({ error: z.object({ type: z.string() }) })

/** A document of the response. Only ids and numbers stand before its source, so the first `_source` is its own. */
function readDocument(document: Buffer, kind: string, name: DocumentId | undefined): Detail {
  const sourceAt = document.indexOf(sourceStart)
  const envelope = parse(sourceAt === -1 ? document.toString() : `${document.toString('latin1', 0, sourceAt)}}`)
  const { success, data } = foundSchema.safeParse(envelope)
  if (!success) {
    const type = failedSchema.safeParse(envelope).data?.error.type ?? 'without a reason'
    throw type === missingIndex ? new ElasticsearchUnavailable('missing-index', kind) : failed(kind, type)
  }
  if (data._id !== name) throw new ElasticsearchUnavailable('partial', `${kind}: an answer for another document`)
  if (!data.found || sourceAt === -1) return 'missing'
  const source = document.subarray(sourceAt + sourceStart.length, -1)
  return isTombstone(source) ? 'deleted' : source
}

function failed(kind: string, type: string): Error {
  const error = classifyErrorResponse(0, type)
  const isOverloaded = error instanceof ElasticsearchUnavailable && error.reason === 'overloaded'
  return isOverloaded ? error : new ElasticsearchUnavailable('partial', `${kind}: ${type}`)
}

const missingIndex = 'index_not_found_exception'
