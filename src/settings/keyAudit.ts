import type { TeamId } from '../core/model/ids.ts'
import { type Instant, toInstant } from '../core/model/instant.ts'

/** Of a repeated deletion, only the id is known. */
interface AuditedKey {
  readonly id: string
  readonly name?: string | undefined
  readonly start?: string | null | undefined
  readonly expiresAt?: Instant | null | undefined
}

/** As JSON a record of the audit topic. `by`: the product's name for the owner, or the user of the command `keys`. */
export interface KeyChange {
  readonly at: Instant
  readonly by: string
  readonly team: TeamId
  readonly change: 'created' | 'revoked' | 'deleted'
  readonly key: AuditedKey
}

export const keyChange = (
  change: KeyChange['change'],
  team: TeamId,
  by: string,
  { id, name, start, expiresAt }: AuditedKey,
  nowMs: number,
): KeyChange => ({ at: toInstant(nowMs), by: by.toWellFormed(), team, change, key: { id, name, start, expiresAt } })
