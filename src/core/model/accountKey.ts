import { hash } from 'node:crypto'
import { z } from 'zod'
import { type Digest, deletedRevision, digestPattern, isDigest, maxRevision, type Revision } from './ids.ts'
import { identifier, instant } from './schema.ts'

export const accountKeyPrefix = 'rqp_acct_'
export const maxKeysPerTeam = 10
export const maxNameCharacters = 100

const isName = (text: string): boolean => text !== '' && [...text].length <= maxNameCharacters

/** The plaintext of an account key is in no record, store or log. */
export const accountKeySchema = z.object({
  id: identifier,
  name: z
    .string()
    .refine(isName, `must be 1 to ${maxNameCharacters} characters`)
    .meta({ minLength: 1, maxLength: maxNameCharacters }),
  digest: z.string().refine(isDigest, 'must be a lower-case hex SHA-256').meta({ pattern: digestPattern.source }),
  start: z.string().nullish(),
  state: z.enum(['active', 'revoked']),
  createdAt: instant,
  createdBy: z.string(),
  expiresAt: instant.nullish(),
  revokedAt: instant.nullish(),
  revokedBy: z.string().nullish(),
})
export type AccountKey = z.output<typeof accountKeySchema>

/** `key` is null once the key is deleted. A deletion by a record without a value has the revision `deletedRevision`. */
export type AccountKeyState = { readonly revision: Revision; readonly key: AccountKey | null }

/** Every member in a fixed order: equal states have equal bytes. */
export function accountKeyValue({ revision, key }: AccountKeyState): string {
  const members = Object.keys(accountKeySchema.shape) as (keyof AccountKey)[]
  return JSON.stringify({ revision, key: key && Object.fromEntries(members.map((name) => [name, key[name] ?? null])) })
}

/** Null for `deletedRevision`, which a value must not contain. */
export const recordValueOf = (state: AccountKeyState): string | null =>
  state.revision === deletedRevision ? null : accountKeyValue(state)

/** At most `maxRevision`: of two states with this revision, a deletion wins, then a revocation. */
export const revisionAfter = (revision: Revision): Revision => Math.min(revision + 1, maxRevision) as Revision

/** Its record has a value, so compaction keeps it. */
export const deletedAfter = (revision: Revision): AccountKeyState => ({ revision: revisionAfter(revision), key: null })

export const plaintextFrom = (randomBytes: Uint8Array): string =>
  accountKeyPrefix + Buffer.from(randomBytes).toString('base64url')

export const digestOf = (plaintext: string): Digest => hash('sha256', plaintext, 'hex') as Digest

/** What pages may show of a key. */
export const startOf = (plaintext: string): string => plaintext.slice(0, accountKeyPrefix.length + 4)
