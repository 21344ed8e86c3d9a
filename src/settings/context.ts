import type { RouterContext, RouterMiddleware } from '@koa/router'
import type { Language } from './pages/languages.ts'
import type { OpenSession } from './sessions.ts'

/** What is known of a request. `session` is known once the browser's cookie was found good. */
export type SettingsState = { requestId: string; language: Language; session?: OpenSession }

export type SettingsContext = RouterContext<SettingsState, object>
export type SettingsMiddleware = RouterMiddleware<SettingsState, object>

type Matched = { readonly matched?: readonly { readonly methods: string[] }[] }

/** The methods of the routes that the path names. */
export const methodsOf = ({ matched }: Matched): string[] => [
  ...new Set(matched?.flatMap(({ methods }) => methods) ?? []),
]
