import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { EntityId, TeamId } from '../core/model/ids.ts'
import type { Instant } from '../core/model/instant.ts'
import type { AccountKeyManager } from './accountKeyManager.ts'
import type { SessionCookie } from './cookies.ts'
import type { RequireSession } from './requireSession.ts'
import type { RespondWithPage } from './respond.ts'
import type { ConsumeToken, Sessions } from './sessions.ts'
import type { VerifyToken } from './signIn/verifyToken.ts'

/** What the settings area is built from. */
export type SettingsDeps = {
  /** Where browsers reach the settings area. */
  readonly origin: string
  /** The product's page that gives a new sign-in link. */
  readonly signInPage: string | undefined
  readonly keys: AccountKeyManager
  readonly lastUse: (team: TeamId) => Promise<ReadonlyMap<EntityId, Instant>>
  readonly verifyToken: VerifyToken
  readonly consumeToken: ConsumeToken
  readonly sessions: Sessions
  readonly nowMs: () => number
  readonly randomToken: () => string
  readonly log: Logger
  readonly metrics: Registry
}

export type RouteDeps = SettingsDeps & {
  readonly cookie: SessionCookie
  readonly requireSession: RequireSession
  readonly respondWithPage: RespondWithPage
}
