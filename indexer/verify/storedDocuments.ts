import { hash } from 'node:crypto'
import { hasRepeatedNames } from '../../src/core/json/rawJson.ts'
import { isTombstone } from '../../src/core/stores/documentFormat.ts'
import { type DocumentKind, isList } from '../../src/core/stores/indices.ts'
import type { StoredDocument } from '../../src/core/stores/readDocuments.ts'
import { type DocumentWrite, withNamesOnce } from '../convertRecord.ts'

export type ComparedDocument = Readonly<ReturnType<typeof comparedOf>>

/** What is compared of a document. */
export const comparedOf = (kind: DocumentKind, { id, version, source }: StoredDocument) => ({
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
