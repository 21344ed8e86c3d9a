import type { DocumentId, Offset, Revision } from '../../src/core/model/ids.ts'
import { type EntityType, entityTypes } from '../../src/core/model/teamList.ts'
import { type DocumentKind, documentKinds } from '../../src/core/stores/indices.ts'
import { type Content, type ContentDigest, digestBytes } from './content.ts'

/** What a record makes of its entity. */
export type RecordEntry = {
  readonly type: EntityType
  readonly id: DocumentId
  readonly version: Revision
  readonly partition: number
  readonly offset: Offset
  /** The lowest `changedAt` that its documents may have (see `ChangeBounds`). */
  readonly changedAtLeastMs: number
  /** An indexer has committed it: the indices must hold it, or something newer. */
  readonly isCommitted: boolean
  readonly digests: { readonly list: ContentDigest; readonly detail: ContentDigest }
}

/** A document as an index holds it. */
export type DocumentEntry = {
  readonly kind: DocumentKind
  readonly id: DocumentId
  readonly version: Revision
  readonly content: Content
}

/**
 * The version of a record that is a dead letter. It makes no document, but compaction may have removed for it the record that its entity is
 * still served from.
 */
export const deadLetterVersion = 0 as Revision
export const noDigest = '\0'.repeat(digestBytes) as ContentDigest

const head = { tag: 0, flag: 1, version: 2, time: 10, digests: 18 }
const documentTags = entityTypes.length
const partitionAt = head.digests + 2 * digestBytes
const offsetAt = partitionAt + 4
const recordIdAt = offsetAt + 8
const documentIdAt = head.digests + digestBytes

export function encodeRecord({
  type,
  id,
  version,
  changedAtLeastMs,
  isCommitted,
  digests,
  ...place
}: RecordEntry): Buffer {
  const bytes = start(entityTypes.indexOf(type), isCommitted, version, changedAtLeastMs, recordIdAt, id)
  bytes.write(digests.list + digests.detail, head.digests, 'latin1')
  bytes.writeUInt32LE(place.partition, partitionAt)
  bytes.writeBigInt64LE(place.offset, offsetAt)
  return bytes
}

export function encodeDocument({ kind, id, version, content }: DocumentEntry): Buffer {
  const { digest, changedAtMs, isTombstone } = content
  const tag = documentTags + documentKinds.indexOf(kind)
  const bytes = start(tag, isTombstone, version, changedAtMs ?? Number.NaN, documentIdAt, id)
  bytes.write(digest, head.digests, 'latin1')
  return bytes
}

function start(tag: number, flag: boolean, version: number, timeMs: number, idAt: number, id: string): Buffer {
  const bytes = Buffer.allocUnsafe(idAt + id.length)
  bytes.writeUInt8(tag, head.tag)
  bytes.writeUInt8(flag ? 1 : 0, head.flag)
  bytes.writeDoubleLE(version, head.version)
  bytes.writeDoubleLE(timeMs, head.time)
  bytes.write(id, idAt, 'latin1')
  return bytes
}

/** Reads what `encodeRecord` or `encodeDocument` has written. */
export function decodeEntry(bytes: Buffer): { record: RecordEntry } | { document: DocumentEntry } {
  const tag = bytes.readUInt8(head.tag)
  const [flag, version] = [bytes.readUInt8(head.flag) === 1, bytes.readDoubleLE(head.version) as Revision]
  const timeMs = bytes.readDoubleLE(head.time)
  const type = entityTypes[tag]
  if (type !== undefined) {
    const digests = { list: digestAt(bytes, head.digests), detail: digestAt(bytes, head.digests + digestBytes) }
    const id = bytes.toString('latin1', recordIdAt) as DocumentId
    const place = { partition: bytes.readUInt32LE(partitionAt), offset: bytes.readBigInt64LE(offsetAt) as Offset }
    return { record: { type, id, version, ...place, changedAtLeastMs: timeMs, isCommitted: flag, digests } }
  }
  const kind = documentKinds[tag - documentTags]
  if (kind === undefined) throw new RangeError(`an entry has the tag ${tag}`)
  const changedAtMs = Number.isNaN(timeMs) ? null : timeMs
  const content: Content = { digest: digestAt(bytes, head.digests), changedAtMs, isTombstone: flag }
  return { document: { kind, id: bytes.toString('latin1', documentIdAt) as DocumentId, version, content } }
}

const digestAt = (bytes: Buffer, at: number): ContentDigest =>
  bytes.toString('latin1', at, at + digestBytes) as ContentDigest

/** The list that a document belongs to, and whether it is the list or the detail document of its entity. */
export const placeOf: Readonly<Record<DocumentKind, { readonly type: EntityType; readonly part: 'list' | 'detail' }>> =
  {
    forms: { type: 'forms', part: 'list' },
    'form-details': { type: 'forms', part: 'detail' },
    submissions: { type: 'submissions', part: 'list' },
    'submission-details': { type: 'submissions', part: 'detail' },
  }

/** The kinds of documents of an entity type. */
export const kindsOf = (type: EntityType): DocumentKind[] => documentKinds.filter((kind) => placeOf[kind].type === type)
