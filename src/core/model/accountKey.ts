import { hash } from 'node:crypto'
import { z } from 'zod'
import { type Digest, deletedRevision, digestPattern, isDigest, maxRevision, type Revision } from './ids.ts'
import { identifier, instant } from './schema.ts'

export const accountKeyPrefix = 'rqp_acct_'
export const maxKeysPerTeam = 10
export const maxNameCharacters = 100

const isName = (text: string): boolean => text !== '' && [...text].length <= maxNameCharacters

/** An account key as its record has it. The plaintext is in no record, store or log. */
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

/** The newest state of a key; `key` is null once it is deleted. A deletion by a null value has the revision `deletedRevision`. */
export type AccountKeyState = { readonly revision: Revision; readonly key: AccountKey | null }

/** The record value (JSON) of a state. Every member is written, in a fixed order, so equal states have equal bytes. */
export function accountKeyValue({ revision, key }: AccountKeyState): string {
  const members = Object.keys(accountKeySchema.shape) as (keyof AccountKey)[]
  return JSON.stringify({ revision, key: key && Object.fromEntries(members.map((name) => [name, key[name] ?? null])) })
}

/** The record value to append for a state. It is null for `deletedRevision`, because a value must not contain this revision. */
export const recordValueOf = (state: AccountKeyState): string | null =>
  state.revision === deletedRevision ? null : accountKeyValue(state)

/** The revision of the next change. After `maxRevision` it does not grow; deletions and revocations still win over a state of the same revision. */
export const revisionAfter = (revision: Revision): Revision => Math.min(revision + 1, maxRevision) as Revision

/**
 * The state that deletes a key whose present revision is `revision`. Its record has a value, so compaction does not remove it, as it would a tombstone.
 */
export const deletedAfter = (revision: Revision): AccountKeyState => ({ revision: revisionAfter(revision), key: null })

export const plaintextFrom = (randomBytes: Uint8Array): string =>
  accountKeyPrefix + Buffer.from(randomBytes).toString('base64url')

export const digestOf = (plaintext: string): Digest => hash('sha256', plaintext, 'hex') as Digest

/** The start of a plaintext key that pages may show: the prefix and four characters. */
export const startOf = (plaintext: string): string => plaintext.slice(0, accountKeyPrefix.length + 4)
