import type { TeamId } from '../core/model/ids.ts'
import { type Instant, toInstant } from '../core/model/instant.ts'

/** Only the id is known if the key was deleted before already (a repeated deletion). */
interface AuditedKey {
  readonly id: string
  readonly name?: string | undefined
  readonly start?: string | null | undefined
  readonly expiresAt?: Instant | null | undefined
}

/** A record of the audit topic. */
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
