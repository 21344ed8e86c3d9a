import type { Client } from '@elastic/elasticsearch'
import { rawElements, rawMembers } from '../../src/core/json/rawJson.ts'
import type { DocumentId, Revision, TeamId } from '../../src/core/model/ids.ts'
import type { DocumentKind, PhysicalIndex } from '../../src/core/stores/indices.ts'
import { contentOf } from './content.ts'
import type { DocumentEntry } from './entries.ts'

const requestTimeoutMs = 60_000
const keepAlive = '2m'
const pageBytes = 1024 * 1024
const maxPageDocuments = 250
/** Each may be a megabyte or more. */
const documentsPerRequest = 20

type Access = { readonly raw: Client; readonly signal: AbortSignal }

/**
 * Reads every document of an index at one moment, in pages of about a megabyte; with a team only those that are routed to it. Throws
 * unless every shard answers.
 */
export async function* scanIndex(
  { raw, signal }: Access,
  kind: DocumentKind,
  index: PhysicalIndex,
  team: TeamId | undefined,
): AsyncGenerator<DocumentEntry[]> {
  const query = team === undefined ? { match_all: {} } : { term: { _routing: team } }
  let id = await openSnapshot({ raw, signal }, index)
  let [size, after]: [number, unknown] = [10, undefined]
  try {
    for (;;) {
      const body = {
        ...{ pit: { id, keep_alive: keepAlive }, query, sort: ['_shard_doc'], size },
        ...{ version: true, track_total_hits: false, ...(after !== undefined && { search_after: after }) },
      }
      const text = await ask({ raw, signal }, 'POST', '/_search?allow_partial_search_results=false', body)
      const answer = rawMembers(text)
      id = JSON.parse(answer.get('pit_id') ?? JSON.stringify(id)) as string
      const hits = rawElements(rawMembers(answer.get('hits') ?? '').get('hits') ?? '').map(rawMembers)
      if (hits.length === 0) return
      yield hits.flatMap((hit) => documentOf(kind, hit))
      after = JSON.parse(hits.at(-1)?.get('sort') ?? 'null')
      size = nextSize(hits.length, text.length)
    }
  } finally {
    // Elasticsearch closes it by itself when this fails.
    await ask({ raw, signal: AbortSignal.timeout(requestTimeoutMs) }, 'DELETE', '/_pit', { id }).catch(() => undefined)
  }
}

/** As many documents as filled a page of the last ones, but never more than twice as many as those. */
export const nextSize = (documents: number, bytes: number): number =>
  Math.max(1, Math.min(maxPageDocuments, 2 * documents, Math.floor((documents * pageBytes) / bytes)))

/** The present state of documents of one kind, also of those that no search shows yet; those that are not there are left out. */
export async function readDocuments(
  access: Access,
  kind: DocumentKind,
  index: PhysicalIndex,
  ids: readonly DocumentId[],
): Promise<DocumentEntry[]> {
  const found: DocumentEntry[] = []
  for (let at = 0; at < ids.length; at += documentsPerRequest) {
    const docs = ids
      .slice(at, at + documentsPerRequest)
      .map((id) => ({ _id: id, routing: id.slice(0, id.indexOf('/')) }))
    const text = await ask(access, 'POST', `/${index}/_mget`, { docs })
    for (const each of rawElements(rawMembers(text).get('docs') ?? '').map(rawMembers)) {
      if (each.has('error')) throw new Error(`${index} cannot be asked for all of its documents`)
      found.push(...documentOf(kind, each))
    }
  }
  return found
}

function documentOf(kind: DocumentKind, members: ReadonlyMap<string, string>): DocumentEntry[] {
  const [id, version, source] = [members.get('_id'), members.get('_version'), members.get('_source')]
  if (id === undefined || version === undefined || source === undefined) return []
  const content = contentOf(kind, Buffer.from(source))
  return [{ kind, id: JSON.parse(id) as DocumentId, version: Number(version) as Revision, content }]
}

async function openSnapshot(access: Access, index: PhysicalIndex): Promise<string> {
  const text = await ask(access, 'POST', `/${index}/_pit?keep_alive=${keepAlive}`)
  return (JSON.parse(text) as { id: string }).id
}

const ask = ({ raw, signal }: Access, method: string, path: string, body?: object): Promise<string> =>
  raw.transport.request<string>(
    { method, path, ...(body !== undefined && { body }) },
    { signal, requestTimeout: requestTimeoutMs },
  )
