import { Router } from '@koa/router'
import { maxKeysPerTeam } from '../core/model/accountKey.ts'
import { toInstant } from '../core/model/instant.ts'
import type { SettingsContext, SettingsMiddleware, SettingsState } from './context.ts'
import { createKey, fromKeys, readCreateKeyForm, withDeadline } from './createKey.ts'
import type { RouteDeps } from './deps.ts'
import { settingsError } from './errors.ts'
import type { CreatedKey } from './keyRules.ts'
import { type ListedKey, listedKey } from './pages/keyList.ts'
import { confirmPage, createdPage, shownAlreadyPage } from './pages/keyPages.ts'
import { type CreateForm, type CreateProblem, type KeysView, keysPage } from './pages/keysPage.ts'
import { writerIn } from './pages/languages.ts'
import { seeOther } from './respond.ts'
import type { OpenSession } from './sessions.ts'

type Change = 'revoke' | 'delete'

const notices = { revoke: 'revoked', delete: 'deleted' } as const satisfies Record<Change, KeysView['notice']>

const problemStatuses: Readonly<Record<CreateProblem | 'full', number>> = {
  name: 422,
  expires: 422,
  deleted: 409,
  full: 409,
  unfinished: 503,
}

/**
 * How long a repeated form shows the plaintext again: long enough for a double click. Whoever reloads the answer later must not
 * find the key there.
 */
const shownAgainMs = 10_000

/** The pages and forms by which an owner manages the team's keys. */
export const keyRoutes = (deps: RouteDeps): Router<SettingsState, object> =>
  new Router<SettingsState, object>({ sensitive: true })
    .get('/', async (ctx) => seeOther(ctx, '/keys'))
    .get(
      '/keys',
      deps.requireSession.page((ctx, session) => showKeys(deps, ctx, session, { status: 200 })),
    )
    .post('/keys', create(deps))
    .get('/keys/:id/revoke', confirm(deps, 'revoke'))
    .post('/keys/:id/revoke', apply(deps, 'revoke'))
    .get('/keys/:id/delete', confirm(deps, 'delete'))
    .post('/keys/:id/delete', apply(deps, 'delete'))

/** Responds with the list of keys and the form for another one, which is empty unless `form` is given. */
async function showKeys(
  deps: RouteDeps,
  ctx: SettingsContext,
  session: OpenSession,
  { status, form, isFull = false }: { readonly status: number; readonly form?: CreateForm; readonly isFull?: boolean },
): Promise<void> {
  const all = await listKeys(deps, session)
  const view = {
    csrf: session.csrf,
    keys: all,
    form: form ?? { name: '', expires: '', once: deps.randomToken() },
    isFull: isFull || all.length >= maxKeysPerTeam,
    today: toInstant(deps.nowMs()).slice(0, 10),
    notice: Object.values(notices).find((notice) => notice === ctx.query['notice']),
  }
  await deps.respondWithPage(ctx, status, keysPage(view, writerIn(ctx.state.language)))
}

async function listKeys({ keys, lastUse, nowMs }: RouteDeps, { team }: OpenSession): Promise<ListedKey[]> {
  const [all, uses] = await fromKeys(Promise.all([keys.list(team), lastUse(team)]))
  return all.map((key) => listedKey(key, uses, nowMs()))
}

const create = (deps: RouteDeps): SettingsMiddleware =>
  deps.requireSession.form(async (ctx, session, fields) => {
    const form = readCreateKeyForm(fields)
    const result = await createKey(deps.keys, session, form)
    if (typeof result !== 'string') return showCreatedKey(deps, ctx, result)
    const status = problemStatuses[result]
    if (result === 'full') return showKeys(deps, ctx, session, { status, isFull: true })
    // With the same token, the form completes a key that is unfinished; a key that was deleted needs another token.
    const once = result === 'deleted' ? deps.randomToken() : form.once
    return showKeys(deps, ctx, session, { status, form: { ...form, once, problem: result } })
  })

async function showCreatedKey(
  { nowMs, respondWithPage }: RouteDeps,
  ctx: SettingsContext,
  { plaintext, key }: CreatedKey,
): Promise<void> {
  const writer = writerIn(ctx.state.language)
  const isNew = key.state === 'active' && nowMs() - Date.parse(key.createdAt) <= shownAgainMs
  if (isNew) return respondWithPage(ctx, 200, createdPage(key.name, plaintext, writer))
  await respondWithPage(ctx, 409, shownAlreadyPage(listedKey(key, new Map(), nowMs()), writer))
}

/** The page that asks for confirmation before a change. */
const confirm = (deps: RouteDeps, change: Change): SettingsMiddleware =>
  deps.requireSession.page(async (ctx, session) => {
    const key = (await listKeys(deps, session)).find(({ id }) => id === ctx['params']['id'])
    if (key === undefined) throw settingsError('not-found')
    if (change === 'revoke' && key.state === 'revoked') return showNotice(ctx, change)
    await deps.respondWithPage(ctx, 200, confirmPage(change, key, session.csrf, writerIn(ctx.state.language)))
  })

const apply = ({ keys, requireSession }: RouteDeps, change: Change): SettingsMiddleware =>
  requireSession.form(async (ctx, { team, sub }) => {
    await fromKeys(withDeadline(keys[change]({ team, id: ctx['params']['id'] ?? '', by: sub })))
    showNotice(ctx, change)
  })

const showNotice = (ctx: SettingsContext, change: Change): void => seeOther(ctx, `/keys?notice=${notices[change]}`)
