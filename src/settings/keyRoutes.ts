import { Router } from '@koa/router'
import { maxKeysPerTeam } from '../core/model/accountKey.ts'
import { toInstant } from '../core/model/instant.ts'
import { withinDeadline } from './changeDeadline.ts'
import type { SettingsContext, SettingsMiddleware, SettingsState } from './context.ts'
import { createKey } from './createKey.ts'
import type { KeyDeps, ShowKeys } from './keyDeps.ts'
import { type ListedKey, listedKey } from './listedKey.ts'
import { confirmPage } from './pages/confirmPage.ts'
import { keysPage } from './pages/keysPage.ts'
import { writerIn } from './pages/layout.ts'
import type { Messages } from './pages/messages.ts'
import { RequestError, whileAvailable } from './requestError.ts'
import { seeOther } from './seeOther.ts'
import type { OpenSession } from './sessions.ts'

type Change = 'revoke' | 'delete'

const notices = { revoke: 'revoked', delete: 'deleted' } as const satisfies Record<Change, keyof Messages['notices']>

/** Everything an owner does with the keys of the team. */
export function keyRoutes(needs: KeyDeps): Router<SettingsState, object> {
  const { keys, lastUse, signedIn, answerPage, nowMs, randomToken } = needs

  const listed = async ({ team }: OpenSession): Promise<ListedKey[]> => {
    const [all, uses] = await whileAvailable(Promise.all([keys.list(team), lastUse(team)]))
    return all.map((key) => listedKey(key, uses, nowMs()))
  }

  const showKeys: ShowKeys = async (ctx, session, { status, form, isFull = false }) => {
    const all = await listed(session)
    const view = {
      csrf: session.csrf,
      keys: all,
      form: form ?? { name: '', expires: '', once: randomToken() },
      isFull: isFull || all.length >= maxKeysPerTeam,
      today: toInstant(nowMs()).slice(0, 10),
      notice: noticeOf(ctx.query['notice']),
    }
    await answerPage(ctx, status, keysPage(view, writerIn(ctx.state.language)))
  }

  const confirm = (change: Change): SettingsMiddleware =>
    signedIn.page(async (ctx, session) => {
      const key = (await listed(session)).find(({ id }) => id === ctx['params']['id'])
      if (key === undefined) throw new RequestError({ kind: 'not-found' })
      if (change === 'revoke' && key.state === 'revoked') return done(ctx, change)
      await answerPage(ctx, 200, confirmPage(change, key, session.csrf, writerIn(ctx.state.language)))
    })

  const carryOut = (change: Change): SettingsMiddleware =>
    signedIn.form(async (ctx, { team, sub }) => {
      await whileAvailable(withinDeadline(keys[change]({ team, id: ctx['params']['id'] ?? '', by: sub })))
      done(ctx, change)
    })

  const toKeys: SettingsMiddleware = async (ctx) => seeOther(ctx, '/keys')

  return new Router<SettingsState, object>({ sensitive: true })
    .get('/', toKeys)
    .get(
      '/keys',
      signedIn.page((ctx, session) => showKeys(ctx, session, { status: 200 })),
    )
    .post('/keys', createKey(needs, showKeys))
    .get('/keys/:id/revoke', confirm('revoke'))
    .post('/keys/:id/revoke', carryOut('revoke'))
    .get('/keys/:id/delete', confirm('delete'))
    .post('/keys/:id/delete', carryOut('delete'))
}

function noticeOf(asked: unknown): keyof Messages['notices'] | undefined {
  return Object.values(notices).find((notice) => notice === asked)
}

const done = (ctx: SettingsContext, change: Change): void => seeOther(ctx, `/keys?notice=${notices[change]}`)
