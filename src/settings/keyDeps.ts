import type { EntityId, TeamId } from '../core/model/ids.ts'
import type { Instant } from '../core/model/instant.ts'
import type { AccountKeys } from './accountKeys.ts'
import type { AnswerPage } from './answerPage.ts'
import type { SettingsContext } from './context.ts'
import type { CreateForm } from './pages/createForm.ts'
import type { OpenSession } from './sessions.ts'
import type { SignedIn } from './signedIn.ts'

/** What the routes of account keys are built from. */
export type KeyDeps = {
  readonly keys: AccountKeys
  readonly lastUse: (team: TeamId) => Promise<ReadonlyMap<EntityId, Instant>>
  readonly signedIn: SignedIn
  readonly answerPage: AnswerPage
  readonly nowMs: () => number
  readonly randomToken: () => string
}

/** Answers with the list of keys and the form, which is a fresh one unless named. */
export type ShowKeys = (
  ctx: SettingsContext,
  session: OpenSession,
  how: { readonly status: number; readonly form?: CreateForm; readonly isFull?: boolean },
) => Promise<void>
