import { hash } from 'node:crypto'
import { hasRepeatedNames } from '../../src/core/json/rawJson.ts'
import type { DocumentId, TeamId } from '../../src/core/model/ids.ts'
import { isTombstone } from '../../src/core/stores/documentFormat.ts'
import { type DocumentKind, isList, type PhysicalIndex } from '../../src/core/stores/indices.ts'
import { multiGet, type StoredDocument, scan } from '../../src/core/stores/readDocuments.ts'
import { type DocumentWrite, withNamesOnce } from '../convertRecord.ts'
import type { VerifyContext } from './verifyContext.ts'

const maxPartDocuments = 250
/** Each may be a megabyte or more. */
const documentsPerRequest = 20

/** Reads every document of an index at one moment; with a team only those that are routed to it. */
export async function* scanDocuments(
  { elasticsearch, team, signal }: Pick<VerifyContext, 'elasticsearch' | 'team' | 'signal'>,
  kind: DocumentKind,
  index: PhysicalIndex,
): AsyncGenerator<ComparedDocument[]> {
  const asked = { query: ofTeam(team), size: maxPartDocuments }
  for await (const part of scan(elasticsearch, index, asked, { signal }))
    yield part.map((document) => comparedOf(kind, document))
}

/** Selects the documents of a team, or all. */
export const ofTeam = (team: TeamId | undefined) =>
  team === undefined ? { match_all: {} } : { term: { _routing: team } }

/** The present state of documents of one kind, also of those that no search shows yet; those that are not there are left out. */
export async function getDocuments(
  { elasticsearch, signal }: Pick<VerifyContext, 'elasticsearch' | 'signal'>,
  kind: DocumentKind,
  index: PhysicalIndex,
  ids: readonly DocumentId[],
): Promise<ComparedDocument[]> {
  const documents: ComparedDocument[] = []
  for (let at = 0; at < ids.length; at += documentsPerRequest) {
    const some = ids.slice(at, at + documentsPerRequest)
    const found = await multiGet(elasticsearch, index, some, undefined, { signal })
    documents.push(...found.flatMap((each) => (each === undefined ? [] : comparedOf(kind, each))))
  }
  return documents
}

export type ComparedDocument = Readonly<ReturnType<typeof comparedOf>>

const comparedOf = (kind: DocumentKind, { id, version, source }: StoredDocument) => ({
  ...{ kind, id, version, ...contentOf(kind, Buffer.from(source)) },
})

const digestBytes = 16
const instantLength = '2026-11-21T10:00:00.000Z'.length

/**
 * Digests a source as it is stored (half a SHA-256). The time of change is taken out: it may differ between two indices that are both right
 * (see `ChangeTimes`), and is compared with the append time instead.
 */
export function contentOf(kind: DocumentKind, source: Buffer) {
  const isDeleted = isTombstone(source)
  // A member of our own, which comes before the first one whose text is from a record.
  const member = isDeleted ? '"deletedAt":"' : '"changedAt":"'
  const found = isDeleted || isList(kind) ? source.indexOf(member) : -1
  const start = found + member.length
  const end = start + instantLength
  const changedAtMs = found === -1 ? Number.NaN : Date.parse(source.toString('latin1', start, end))
  const isTimed = !Number.isNaN(changedAtMs)
  const compared = isTimed ? Buffer.concat([source.subarray(0, start), source.subarray(end)]) : source
  const digest = hash('sha256', compared, 'buffer').subarray(0, digestBytes)
  return {
    /** Of the source without its time of change. */
    digest,
    /** The `changedAt` of a list document, the instant of deletion of a tombstone; null for a live detail document. */
    changedAtMs: isTimed ? changedAtMs : null,
    isTombstone: Number(isDeleted),
  }
}

/** The content of a document as Elasticsearch stores it: it rejects repeated names, and the bulk writer sends each name once then. */
export function storedContentOf(document: DocumentWrite): ReturnType<typeof contentOf> {
  const isRejected = hasRepeatedNames(document.source.toString())
  return contentOf(document.kind, isRejected ? withNamesOnce(document).source : document.source)
}
