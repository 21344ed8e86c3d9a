import { createHash } from 'node:crypto'
import type { TeamId } from '../../src/core/model/ids.ts'
import type { Instant } from '../../src/core/model/instant.ts'
import { entityTypes } from '../../src/core/model/teamList.ts'
import { type DocumentKind, documentKinds } from '../../src/core/stores/indices.ts'

/** A document as generations are compared by. All but id and version are of list documents alone. */
export type Version = {
  readonly id: string
  readonly version: number
  /** An ISO instant; of a tombstone the instant of deletion. */
  readonly changedAt?: Instant | undefined
  /** Of what its record says; undefined for a tombstone. */
  readonly digest?: string | undefined
}

/** Where a list document has the time of its change: members of its source and fields of its index. */
export const timeFields = ['changedAt', 'tombstone.deletedAt']
/** Of the source of a list document, what generations are compared by. */
export const listMembers = [...timeFields, 'digest']
export type ListSource = {
  readonly changedAt?: Instant
  readonly tombstone?: { readonly deletedAt?: Instant }
  readonly digest?: string
}

export const isList = (kind: DocumentKind): boolean => entityTypes.some((type) => type === kind)

/** The kinds of an entity's documents, by that of its list document. */
export const kindsOf = (list: DocumentKind): DocumentKind[] =>
  documentKinds.filter((kind) => kind === list || kind === `${list.slice(0, -1)}-details`)

export const teamOf = (id: string): TeamId => id.slice(0, id.indexOf('/')) as TeamId

const checksumBytes = 6

/** Adds a document to a checksum that does not depend on their order. */
export const addFingerprint = (sum: number, { id, version }: Version): number =>
  (sum + createHash('sha256').update(`${id} ${version}`).digest().readUIntBE(0, checksumBytes)) %
  2 ** (8 * checksumBytes)
