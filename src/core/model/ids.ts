import { randomBytes } from 'node:crypto'

declare const brand: unique symbol

/** A `T` that only its own constructor or parser may make. */
export type Branded<T, Name extends string> = T & { readonly [brand]: Name }

export type TeamId = Branded<string, 'TeamId'>
export type EntityId = Branded<string, 'EntityId'>
/** `<teamId>/<entityId>`: also the Kafka record key. */
export type DocumentId = Branded<string, 'DocumentId'>
/** Hex SHA-256 of a plaintext account key. */
export type Digest = Branded<string, 'Digest'>
/** 1 to 2^53 − 2 while the entity lives. */
export type Revision = Branded<number, 'Revision'>
export type Offset = Branded<bigint, 'Offset'>

export const identifierPattern = /^[A-Za-z0-9._:-]{1,128}$/
export const digestPattern = /^[0-9a-f]{64}$/

export const identifierRule = '1 to 128 characters of A-Z a-z 0-9 . _ : -'

export const maxRevision = 2 ** 53 - 2

/** Of a deletion by a record without a value: above all revisions in values, so no later record brings the entity back. */
export const deletedRevision = (2 ** 53 - 1) as Revision

export const isIdentifier = (text: string): boolean => identifierPattern.test(text)
export const isDigest = (text: string): text is Digest => digestPattern.test(text)
export const isRevision = (value: unknown): value is Revision =>
  Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= maxRevision

export const documentId = (teamId: TeamId, entityId: EntityId): DocumentId => `${teamId}/${entityId}` as DocumentId

export const teamIdOf = (id: DocumentId): TeamId => id.slice(0, id.indexOf('/')) as TeamId

export const entityIdOf = (id: DocumentId): EntityId => id.slice(id.indexOf('/') + 1) as EntityId
export const toOffset = (text: string): Offset => BigInt(text) as Offset

/** 96 bits. */
export const randomToken = (): string => randomBytes(12).toString('base64url')

export const entityTypes = ['forms', 'submissions'] as const
export type EntityType = (typeof entityTypes)[number]

export type List = { readonly type: EntityType; readonly teamId: TeamId }

export type TeamList = `${EntityType}/${TeamId}`

export const teamList = (type: EntityType, teamId: TeamId): TeamList => `${type}/${teamId}`
