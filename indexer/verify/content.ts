import { hash } from 'node:crypto'
import { hasRepeatedNames } from '../../src/core/json/rawJson.ts'
import type { Branded } from '../../src/core/model/ids.ts'
import { type DocumentWrite, isTombstone, withNamesOnce } from '../../src/core/stores/documents.ts'
import type { DocumentKind } from '../../src/core/stores/indices.ts'

/** Half a SHA-256 of a source without its time of change. */
export type ContentDigest = Branded<string, 'ContentDigest'>

/** What is compared of a source. */
export type Content = {
  readonly digest: ContentDigest
  /** The `changedAt` of a list document, the instant of deletion of a tombstone; null for a live detail document. */
  readonly changedAtMs: number | null
  readonly isTombstone: boolean
}

export const digestBytes = 16
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
  const isTimed = isDeleted || kind === 'forms' || kind === 'submissions'
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

const digestOf = (bytes: Buffer): ContentDigest =>
  hash('sha256', bytes, 'buffer').toString('latin1', 0, digestBytes) as ContentDigest
