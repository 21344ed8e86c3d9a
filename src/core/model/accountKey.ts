import { hash } from 'node:crypto'
import { z } from 'zod'
import { type Digest, deletedRevision, digestPattern, isDigest, maxRevision, type Revision } from './ids.ts'
import { identifier, instant } from './schema.ts'

export const accountKeyPrefix = 'rqp_acct_'
export const maxKeysPerTeam = 10
const maxNameCharacters = 100

/** Free text. Lone surrogates are replaced: cjson in Redis's scripts rejects them. */
const freeText = z.string().transform((text) => text.toWellFormed())
const isName = (text: string): boolean => text !== '' && [...text].length <= maxNameCharacters

/** An account key of a team, as in its record. The plaintext is in no record, store or log. */
export const accountKeySchema = z.object({
  id: identifier,
  name: freeText
    .refine(isName, `must be 1 to ${maxNameCharacters} characters`)
    .meta({ minLength: 1, maxLength: maxNameCharacters }),
  digest: z.string().refine(isDigest, 'must be a lower-case hex SHA-256').meta({ pattern: digestPattern.source }),
  start: freeText.nullish(),
  state: z.enum(['active', 'revoked']),
  createdAt: instant,
  createdBy: freeText,
  expiresAt: instant.nullish(),
  revokedAt: instant.nullish(),
  revokedBy: freeText.nullish(),
})
export type AccountKey = z.output<typeof accountKeySchema>

/** What the newest record of a key says: its state, or that it was deleted (null). A null value has `deletedRevision`. */
export type AccountKeyState = { readonly revision: Revision; readonly key: AccountKey | null }

/** The value of a record. Equal states have equal values: members stand in one order, and none is missing. */
export function accountKeyValue({ revision, key }: AccountKeyState): string {
  const members = Object.keys(accountKeySchema.shape) as (keyof AccountKey)[]
  return JSON.stringify({ revision, key: key && Object.fromEntries(members.map((name) => [name, key[name] ?? null])) })
}

/** What is appended for a state. A null value that the product wrote is written again as such: no record may have its revision. */
export const recordValueOf = (state: AccountKeyState): string | null =>
  state.revision === deletedRevision ? null : accountKeyValue(state)

/** The state after the key is deleted: a record that compaction keeps. */
export const deletedAfter = (revision: Revision): AccountKeyState => {
  return { revision: Math.min(revision + 1, maxRevision) as Revision, key: null }
}

/** A new plaintext key from 32 random bytes. */
export const plaintextFrom = (randomBytes: Uint8Array): string =>
  accountKeyPrefix + Buffer.from(randomBytes).toString('base64url')

export const digestOf = (plaintext: string): Digest => hash('sha256', plaintext, 'hex') as Digest

/** The part of a plaintext key that is shown to people: the prefix and four characters. */
export const startOf = (plaintext: string): string => plaintext.slice(0, accountKeyPrefix.length + 4)
