import type { RouterContext, RouterMiddleware } from '@koa/router'
import type { Language } from './pages/languages.ts'
import type { OpenSession } from './sessions.ts'

/** What middleware has found out about a request. `session` is set once the session cookie was found valid. */
export type SettingsState = { requestId: string; language: Language; session?: OpenSession }

export type SettingsContext = RouterContext<SettingsState, object>
export type SettingsMiddleware = RouterMiddleware<SettingsState, object>
