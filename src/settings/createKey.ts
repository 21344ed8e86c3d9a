import { parseInstant } from '../core/model/instant.ts'
import { KeyChangeIncomplete, KeyRefused } from './accountKeys.ts'
import { withinDeadline } from './changeDeadline.ts'
import type { SettingsContext, SettingsMiddleware } from './context.ts'
import { isOnceToken, keySeed } from './creation.ts'
import type { KeyDeps, ShowKeys } from './keyDeps.ts'
import { listedKey } from './listedKey.ts'
import { createdPage, shownAlreadyPage } from './pages/createdPage.ts'
import type { CreateProblem } from './pages/createForm.ts'
import { writerIn } from './pages/layout.ts'
import { RequestError, whileAvailable } from './requestError.ts'
import type { OpenSession } from './sessions.ts'

type Filled = { readonly name: string; readonly expires: string; readonly once: string }
type Outcome = Awaited<ReturnType<KeyDeps['keys']['create']>> | CreateProblem | 'full'

/** Long enough for a second click; whoever loads the answer again later must not find the key there. */
const shownAgainMs = 10_000

/** Makes the key that the form asks for, once however often the form arrives, and shows it. */
export function createKey(needs: KeyDeps, showKeys: ShowKeys): SettingsMiddleware {
  const { keys, signedIn, answerPage, nowMs, randomToken } = needs

  const create = async (session: OpenSession, { name, expires, once }: Filled): Promise<Outcome> => {
    const endOfDay = expires === '' ? undefined : parseInstant(`${expires}T23:59:59.999Z`)
    if (expires !== '' && endOfDay === undefined) return 'expires'
    const request = { team: session.team, name, by: session.sub, expires: endOfDay, seed: keySeed(session, once) }
    try {
      return await whileAvailable(withinDeadline(keys.create(request)))
    } catch (error) {
      return problemOf(error)
    }
  }

  const showKey = async (ctx: SettingsContext, { plaintext, key }: Exclude<Outcome, string>): Promise<void> => {
    const writer = writerIn(ctx.state.language)
    const isNew = key.state === 'active' && nowMs() - Date.parse(key.createdAt) <= shownAgainMs
    if (isNew) return answerPage(ctx, 200, createdPage(key.name, plaintext, writer))
    await answerPage(ctx, 409, shownAlreadyPage(listedKey(key, new Map(), nowMs()), writer))
  }

  return signedIn.form(async (ctx, session, form) => {
    const filled = filledIn(form)
    const outcome = await create(session, filled)
    if (typeof outcome !== 'string') return showKey(ctx, outcome)
    switch (outcome) {
      case 'full':
        return showKeys(ctx, session, { status: 409, isFull: true })
      case 'unfinished':
        // The same form again: it completes what it began.
        return showKeys(ctx, session, { status: 503, form: { ...filled, problem: outcome } })
      case 'deleted':
        return showKeys(ctx, session, { status: 409, form: { ...filled, once: randomToken(), problem: outcome } })
      case 'name':
      case 'expires':
        return showKeys(ctx, session, { status: 422, form: { ...filled, problem: outcome } })
    }
  })
}

function filledIn(form: URLSearchParams): Filled {
  const once = form.get('once') ?? ''
  if (!isOnceToken(once)) throw new RequestError({ kind: 'foreign-form' })
  return { name: (form.get('name') ?? '').trim(), expires: (form.get('expires') ?? '').trim(), once }
}

function problemOf(error: unknown): CreateProblem | 'full' {
  if (error instanceof KeyChangeIncomplete) return 'unfinished'
  if (!(error instanceof KeyRefused) || error.reason === 'team' || error.reason === 'unknown-key') throw error
  return error.reason
}
