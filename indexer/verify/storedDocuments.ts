import { hash } from 'node:crypto'
import { hasRepeatedNames } from '../../src/core/json/rawJson.ts'
import type { DocumentId, TeamId } from '../../src/core/model/ids.ts'
import { type DocumentWrite, isTombstone, withNamesOnce } from '../../src/core/stores/documents.ts'
import { type DocumentKind, isList, type PhysicalIndex } from '../../src/core/stores/indices.ts'
import { multiGet, type StoredDocument, scan } from '../../src/core/stores/readDocuments.ts'
import type { Verification } from './verification.ts'

/** What is compared of a source. */
export type Content = {
  /** Half a SHA-256 of the source without its time of change. */
  readonly digest: Uint8Array
  /** The `changedAt` of a list document, the instant of deletion of a tombstone; null for a live detail document. */
  readonly changedAtMs: number | null
  readonly isTombstone: boolean
}

/** What is compared of a document of an index. */
export type ComparedDocument = Content & Pick<StoredDocument, 'id' | 'version'> & { readonly kind: DocumentKind }

const requestTimeoutMs = 60_000
const maxPartDocuments = 250
/** Each may be a megabyte or more. */
const documentsPerRequest = 20

type Access = Pick<Verification, 'raw' | 'signal'>

/** Reads every document of an index at one moment; with a team only those that are routed to it. */
export async function* scanDocuments(
  { raw, team, signal }: Access & Pick<Verification, 'team'>,
  kind: DocumentKind,
  index: PhysicalIndex,
): AsyncGenerator<ComparedDocument[]> {
  const asked = { query: ofTeam(team), size: maxPartDocuments }
  for await (const part of scan(raw, index, asked, { signal, requestTimeout: requestTimeoutMs }))
    yield part.map((document) => comparedOf(kind, document))
}

/** Selects the documents of a team, or all. */
export const ofTeam = (team: TeamId | undefined) =>
  team === undefined ? { match_all: {} } : { term: { _routing: team } }

/** The present state of documents of one kind, also of those that no search shows yet; those that are not there are left out. */
export async function getDocuments(
  { raw, signal }: Access,
  kind: DocumentKind,
  index: PhysicalIndex,
  ids: readonly DocumentId[],
): Promise<ComparedDocument[]> {
  const documents: ComparedDocument[] = []
  for (let at = 0; at < ids.length; at += documentsPerRequest) {
    const some = ids.slice(at, at + documentsPerRequest)
    const found = await multiGet(raw, index, some, undefined, { signal, requestTimeout: requestTimeoutMs })
    for (const each of found) if (each !== undefined) documents.push(comparedOf(kind, each))
  }
  return documents
}

const comparedOf = (kind: DocumentKind, { id, version, source }: StoredDocument): ComparedDocument => ({
  ...{ kind, id, version, ...contentOf(kind, Buffer.from(source)) },
})

const digestBytes = 16
const instantLength = '2026-11-21T10:00:00.000Z'.length
/** Members of our own, which come before the first one whose text is from a record. */
const timeMembers = { list: Buffer.from('"changedAt":"'), tombstone: Buffer.from('"deletedAt":"') }

/**
 * Digests a source as it is stored. The time of change is taken out: it may differ between two indices that are both right
 * (see `ChangeTimes`), and is compared with the append time instead.
 */
export function contentOf(kind: DocumentKind, source: Buffer): Content {
  const isDeleted = isTombstone(source)
  const member = isDeleted ? timeMembers.tombstone : timeMembers.list
  const isTimed = isDeleted || isList(kind)
  const found = isTimed ? source.indexOf(member) : -1
  const start = found + member.length
  const changedAtMs = found === -1 ? Number.NaN : Date.parse(source.toString('latin1', start, start + instantLength))
  if (Number.isNaN(changedAtMs)) return { digest: digestOf(source), changedAtMs: null, isTombstone: isDeleted }
  const rest = Buffer.concat([source.subarray(0, start), source.subarray(start + instantLength)])
  return { digest: digestOf(rest), changedAtMs, isTombstone: isDeleted }
}

/** The content of a document as Elasticsearch stores it: it rejects repeated names, and the bulk writer sends each name once then. */
export function storedContentOf(document: DocumentWrite): Content {
  const isRejected = hasRepeatedNames(document.source.toString())
  return contentOf(document.kind, isRejected ? withNamesOnce(document).source : document.source)
}

const digestOf = (bytes: Buffer): Uint8Array => hash('sha256', bytes, 'buffer').subarray(0, digestBytes)
