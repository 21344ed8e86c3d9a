import { createHmac } from 'node:crypto'
import { Router } from '@koa/router'
import type { Logger } from 'pino'
import { parameterOf } from '../core/http/query.ts'
import { maxKeysPerTeam } from '../core/model/accountKey.ts'
import { type EntityId, randomToken, type TeamId } from '../core/model/ids.ts'
import { toInstant } from '../core/model/instant.ts'
import { AccountKeysIncomplete } from '../core/redis/accountKeyStore.ts'
import type { ReadKeyUse } from '../core/redis/readKeyUse.ts'
import { fromRedis } from '../core/redis/redis.ts'
import { type AccountKeyManager, type CreatedKey, KeyChangeIncomplete, KeyRefused } from './accountKeyManager.ts'
import { settingsError } from './errors.ts'
import type { KeyChange } from './keyAudit.ts'
import {
  type CreateFailure,
  type CreateForm,
  confirmPage,
  createdPage,
  keysPage,
  type ListedKey,
  listedKey,
  type ReplaceFailure,
} from './pages/keyPages.ts'
import { messagePage, urlsFrom } from './pages/parts.ts'
import { replacementOf } from './replacement.ts'
import { respondWithPage, type SettingsContext, type SettingsState, seeOther } from './respond.ts'
import { type OpenSession, type Sessions, sessionLifeMs } from './sessions.ts'
import type { CompleteUnread } from './unreadChanges.ts'

type Change = 'revoke' | 'delete'

const problemStatuses: Readonly<Record<CreateFailure | 'full', number>> = {
  name: 422,
  expires: 422,
  deleted: 409,
  full: 409,
  unfinished: 503,
}

/** Shorter than browsers wait for an answer, longer than Kafka needs to elect a partition leader. */
const changeDeadlineMs = 15_000
/** Of a form's token `once`: a form that is sent twice creates one key. */
const oncePattern = /^[A-Za-z0-9_-]{16,64}$/
/** How long a key is shown again if its form is sent again: enough for a double click, but not for a later reload. */
const shownAgainMs = 10_000

export type KeyRoutesDeps = {
  readonly keys: AccountKeyManager
  readonly completeUnread: CompleteUnread
  readonly readUse: (
    team: TeamId,
    keys: readonly EntityId[],
    nowMs: number,
  ) => Promise<ReadonlyMap<EntityId, ReadKeyUse>>
  readonly readChanges: (team: TeamId) => Promise<readonly KeyChange[]>
  readonly log: Logger
  readonly nowMs: () => number
}

export function keyRoutes({ forOwner }: Sessions, deps: KeyRoutesDeps) {
  const { keys, nowMs } = deps
  const listKeys = keyLister(deps)
  const showKeys = keysShower(deps)
  const createKey = keyCreator(keys)
  const create = forOwner(async (ctx, session, fields) => {
    const form = readCreateForm(fields)
    const creation = await createKey(session, form)
    if (creation.kind === 'created') return showCreatedKey(ctx, creation.created, nowMs())
    const { problem } = creation
    const status = problemStatuses[problem]
    if (problem === 'full') return showKeys(ctx, session, status, problem)
    return showKeys(ctx, session, status, { ...form, once: tokenAfter(problem, form.once), problem })
  })
  const replace = forOwner(async (ctx, session, fields) => {
    const once = onceIn(fields)
    const key = (await listKeys(session)).find(({ id }) => id === ctx['params']['id'])
    if (key?.shownState !== 'active') throw settingsError('not-found')
    // The forms of a page have the same token. With the id, each makes another key.
    const form = { ...replacementOf(key, nowMs()), once: `replace ${key.id} ${once}` }
    const creation = await createKey(session, form)
    if (creation.kind === 'created') return showCreatedKey(ctx, creation.created, nowMs(), key.name)
    const { problem } = creation
    if (problem === 'name' || problem === 'expires') throw new Error(`a replacement breaks the rule of ${problem}`)
    const nextForm = problem === 'full' ? problem : { name: '', expires: '', once: tokenAfter(problem, once) }
    return showKeys(ctx, session, problemStatuses[problem], nextForm, problem)
  })
  const confirm = (change: Change) =>
    forOwner(async (ctx, session) => {
      const key = (await listKeys(session)).find(({ id }) => id === ctx['params']['id'])
      if (key === undefined) throw settingsError('not-found')
      if (change === 'revoke' && key.state === 'revoked') return showNotice(ctx, change)
      respondWithPage(ctx, 200, confirmPage(change, key, session.csrf, ctx.state.messages, urlsFrom(ctx.path)))
    })
  const apply = (change: Change) =>
    forOwner(async (ctx, { team, sub }) => {
      await fromKeys(withDeadline(keys[change]({ team, id: ctx['params']['id'] ?? '', by: sub })))
      showNotice(ctx, change)
    })
  return new Router<SettingsState, object>({ sensitive: true })
    .get('/', (ctx) => seeOther(ctx, '/keys'))
    .get(
      '/keys',
      forOwner((ctx, session) => showKeys(ctx, session, 200, { name: '', expires: '', once: randomToken() })),
    )
    .post('/keys', create)
    .post('/keys/:id/replace', replace)
    .get('/keys/:id/revoke', confirm('revoke'))
    .post('/keys/:id/revoke', apply('revoke'))
    .get('/keys/:id/delete', confirm('delete'))
    .post('/keys/:id/delete', apply('delete'))
}

/** The same token completes an unfinished key, but cannot create a deleted key again. */
const tokenAfter = (problem: CreateFailure, once: string): string => (problem === 'deleted' ? randomToken() : once)

/** `full`: no slot is free. */
const keysShower =
  (deps: KeyRoutesDeps) =>
  async (
    ctx: SettingsContext,
    session: OpenSession,
    status: number,
    form: CreateForm | 'full',
    notReplaced?: ReplaceFailure,
  ) => {
    const all = await keyLister(deps)(session)
    // A key that was not created in time (`unfinished`) may be the tenth in the list, but no page has shown its plaintext. Only its form, sent again, shows it.
    const isFull = form === 'full' || (all.length >= maxKeysPerTeam && (notReplaced ?? form.problem) !== 'unfinished')
    const today = toInstant(deps.nowMs()).slice(0, 10)
    const sent = parameterOf(ctx, 'notice')
    const notice = (['revoked', 'deleted'] as const).find((change) => change === sent)
    const changes = await ifReadable(deps.readChanges(session.team), deps.log, 'the changes of account keys')
    const view = { csrf: session.csrf, keys: all, form: isFull ? undefined : form, today, notice, changes, notReplaced }
    respondWithPage(ctx, status, keysPage(view, ctx.state.messages, urlsFrom(ctx.path)))
  }

/** Oldest first. Also requests again what is not durable yet. */
const keyLister =
  ({ keys, completeUnread, readUse, log, nowMs }: KeyRoutesDeps) =>
  async ({ team }: OpenSession): Promise<ListedKey[]> => {
    const listed = await fromKeys(keys.list(team))
    completeUnread(team).catch((err: unknown) => log.warn({ err, teamId: team }, 'account keys are not durable yet'))
    const ids = listed.map(({ id }) => id as EntityId)
    const uses = await ifReadable(readUse(team, ids, nowMs()), log, 'the use of account keys')
    return listed.map((key) => listedKey(key, uses?.get(key.id as EntityId), nowMs()))
  }

/** For what is only displayed: undefined if it cannot be read. */
const ifReadable = <T>(read: Promise<T>, log: Logger, what: string): Promise<T | undefined> =>
  read.catch((err: unknown) => {
    log.warn({ err }, `cannot read ${what}`)
    return undefined
  })

const showNotice = (ctx: SettingsContext, change: Change): void => seeOther(ctx, `/keys?notice=${change}d`)

function showCreatedKey(
  ctx: SettingsContext,
  { plaintext, key, isNew }: CreatedKey,
  nowMs: number,
  replaced?: string,
): void {
  const { messages } = ctx.state
  // Absolute, because the clock may have been set back since.
  const isYoung = Math.abs(nowMs - Date.parse(key.createdAt)) <= shownAgainMs
  const { title, text } = messages.shownAlready
  const urlOf = urlsFrom(ctx.path)
  const link = { href: urlOf('/keys'), label: messages.backToKeys }
  if (key.state === 'active' && (isNew || isYoung))
    respondWithPage(ctx, 200, createdPage(key.name, plaintext, replaced, messages, urlOf))
  else respondWithPage(ctx, 409, messagePage({ title: title(key.name), text, link }))
}

function readCreateForm(form: URLSearchParams): CreateForm {
  return { name: (form.get('name') ?? '').trim(), expires: (form.get('expires') ?? '').trim(), once: onceIn(form) }
}

function onceIn(form: URLSearchParams): string {
  const once = form.get('once') ?? ''
  if (!oncePattern.test(once)) throw settingsError('foreign-form')
  return once
}

type Creation =
  | { readonly kind: 'created'; readonly created: CreatedKey }
  | { readonly kind: 'failed'; readonly problem: CreateFailure | 'full' }

/**
 * A form that is sent again gets the same key, or joins the creation in flight. `isNew` is also true for a key that no page has shown, because its
 * creation took longer than the deadline.
 */
export function keyCreator(keys: Pick<AccountKeyManager, 'create'>) {
  /** By form: session id and token. */
  const inFlight = new Map<string, Promise<CreatedKey>>()
  /** The forms whose creation was late or incomplete. */
  const unshown = new Set<string>()
  return async (session: OpenSession, { name, expires, once }: CreateForm): Promise<Creation> => {
    const endOfDay = expires === '' ? undefined : `${expires}T23:59:59.999Z`
    const request = { team: session.team, name, by: session.sub, expires: endOfDay, seed: keySeed(session, once) }
    const form = `${session.id} ${once}`
    const creation = inFlight.get(form) ?? keys.create(request).finally(() => inFlight.delete(form))
    inFlight.set(form, creation)
    try {
      const created = await fromKeys(withDeadline(creation))
      return { kind: 'created', created: { ...created, isNew: unshown.delete(form) || created.isNew } }
    } catch (error) {
      if (error instanceof KeyChangeIncomplete) {
        unshown.add(form)
        setTimeout(() => unshown.delete(form), sessionLifeMs).unref()
        return { kind: 'failed', problem: 'unfinished' }
      }
      if (!(error instanceof KeyRefused) || error.reason === 'team' || error.reason === 'unknown-key') throw error
      return { kind: 'failed', problem: error.reason }
    }
  }
}

/**
 * The same for the same form of the same session. Computing it takes the session id, which is not in Redis, and the session secret, which is not in
 * the browser.
 */
export const keySeed = ({ id, secret }: Pick<OpenSession, 'id' | 'secret'>, once: string): Uint8Array =>
  createHmac('sha256', Buffer.from(id + secret))
    .update(once)
    .digest()

/** Errors other than those of `AccountKeyManager` become `RedisUnavailable`. */
const fromKeys = <T>(answer: Promise<T>): Promise<T> =>
  fromRedis(answer, KeyRefused, KeyChangeIncomplete, AccountKeysIncomplete)

/** After the deadline, rejects with `KeyChangeIncomplete`; the change continues. */
const withDeadline = <T>(change: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    const late = () => reject(new KeyChangeIncomplete(`not done within ${changeDeadlineMs} ms`))
    setTimeout(late, changeDeadlineMs).unref()
    change.then(resolve, reject)
  })
