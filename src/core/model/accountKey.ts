import { hash } from 'node:crypto'
import { z } from 'zod'
import { type Digest, deletedRevision, digestPattern, isDigest, maxRevision, type Revision } from './ids.ts'
import { identifier, instant } from './schema.ts'

export const accountKeyPrefix = 'rqp_acct_'
export const maxKeysPerTeam = 10
const maxNameCharacters = 100

const isName = (text: string): boolean => text !== '' && [...text].length <= maxNameCharacters

/** An account key of a team, as in its record. The plaintext is in no record, store or log. */
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

/** A key as of its newest record; `key` is null once deleted. A record with a null value counts as `deletedRevision`. */
export type AccountKeyState = { readonly revision: Revision; readonly key: AccountKey | null }

/** The record value (JSON) of a state. Members have a fixed order and none is left out, so equal states have equal bytes. */
export function accountKeyValue({ revision, key }: AccountKeyState): string {
  const members = Object.keys(accountKeySchema.shape) as (keyof AccountKey)[]
  return JSON.stringify({ revision, key: key && Object.fromEntries(members.map((name) => [name, key[name] ?? null])) })
}

/** The record value to append for a state: null for `deletedRevision`, which is above the revisions that records may carry. */
export const recordValueOf = (state: AccountKeyState): string | null =>
  state.revision === deletedRevision ? null : accountKeyValue(state)

/** The revision of a change of a key with this one: the greatest stays, for a deletion, and a revocation, win over the same revision. */
export const revisionAfter = (revision: Revision): Revision => Math.min(revision + 1, maxRevision) as Revision

/** The state that deletes a key with this revision. Its record value is not null, so compaction keeps the record. */
export const deletedAfter = (revision: Revision): AccountKeyState => ({ revision: revisionAfter(revision), key: null })

/** The plaintext account key made of 32 random bytes. */
export const plaintextFrom = (randomBytes: Uint8Array): string =>
  accountKeyPrefix + Buffer.from(randomBytes).toString('base64url')

export const digestOf = (plaintext: string): Digest => hash('sha256', plaintext, 'hex') as Digest

/** The part of a plaintext key that pages may show: the prefix and four characters. */
export const startOf = (plaintext: string): string => plaintext.slice(0, accountKeyPrefix.length + 4)
