import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import readBody from 'raw-body'
import type { TeamId } from '../core/model/ids.ts'
import { fromRedis, type RedisConnection } from '../core/redis/redis.ts'
import { settingsError } from './errors.ts'
import type { SettingsContext, SettingsMiddleware } from './respond.ts'

/** `sub`: the product's name for the signed-in person. */
export type Owner = { readonly team: TeamId; readonly sub: string }

/**
 * `csrf` is in every form. Only the browser stores `id`, in a cookie; only Redis stores `secret`. New account keys are derived from both (`keySeed`), so that
 * neither the browser's data nor those in Redis are enough.
 */
export type OpenSession = Owner & { readonly csrf: string; readonly secret: string; readonly id: string }

export const sessionLifeMs = 15 * 60_000
const randomBytesCount = 32
/** So many bytes in base64url. */
const idPattern = /^[A-Za-z0-9_-]{43}$/

/** `form`: empty except for a POST. */
type OwnerHandler = (ctx: SettingsContext, session: OpenSession, form: URLSearchParams) => Promise<void>

export interface Sessions {
  /** Also ends the browser's former session (against session fixation). */
  start(ctx: SettingsContext, owner: Owner): Promise<void>
  end(ctx: SettingsContext, session: Pick<OpenSession, 'id'>): Promise<void>
  /** Throws `no-session`, or `foreign-form` for a POST without the session's CSRF token. */
  forOwner(handle: OwnerHandler): SettingsMiddleware
}

/**
 * Redis stores only the digest of a session's id, so that nobody can take over a session by reading Redis. The prefix `__Host-` prevents other hosts
 * of the domain from setting the cookie.
 */
export function createSessions({ client, keys }: RedisConnection, isSecure: boolean): Sessions {
  const cookie = isSecure ? '__Host-tidemark-session' : 'tidemark-session'
  const random = (): string => randomBytes(randomBytesCount).toString('base64url')
  const keyOf = (id: string): string => keys.session(hash('sha256', id))
  const idIn = (ctx: SettingsContext): string | undefined => {
    const id = ctx.cookies.get(cookie)
    return id !== undefined && idPattern.test(id) ? id : undefined
  }
  return {
    start: async (ctx, owner) => {
      const formerId = idIn(ctx)
      if (formerId !== undefined) await fromRedis(client.del(keyOf(formerId)))
      const session = { ...owner, csrf: random(), secret: random() }
      const id = random()
      await fromRedis(client.set(keyOf(id), JSON.stringify(session), 'PX', sessionLifeMs))
      ctx.state.session = session
      ctx.cookies.set(cookie, id, { sameSite: 'lax' })
    },
    end: async (ctx, { id }) => {
      await fromRedis(client.del(keyOf(id)))
      ctx.cookies.set(cookie)
    },
    forOwner: (handle) => async (ctx) => {
      const id = idIn(ctx) ?? ''
      const text = id === '' ? null : await fromRedis(client.get(keyOf(id)))
      const isKnown = text !== null
      if (!isKnown) throw settingsError('no-session')
      const session = { ...(JSON.parse(text) as Omit<OpenSession, 'id'>), id }
      ctx.state.session = session
      const form = ctx.method === 'POST' ? await readForm(ctx, session.csrf) : new URLSearchParams()
      await handle(ctx, session, form)
    },
  }
}

/** Without `Origin`, `Sec-Fetch-Site` decides. */
export const requireSameOrigin =
  (origin: string): SettingsMiddleware =>
  (ctx, next) => {
    if (ctx.method === 'GET' || ctx.method === 'HEAD') return next()
    const sender = ctx.get('Origin')
    const isOwn = sender === '' ? ctx.get('Sec-Fetch-Site') === 'same-origin' : sender === origin
    if (!isOwn) throw settingsError('foreign-form')
    return next()
  }

const maxFormBytes = 16 * 1024

/** Otherwise, the unread rest of the body would be parsed as the next request. */
const closesConnection = { Connection: 'close' }

async function readForm(ctx: SettingsContext, csrf: string): Promise<URLSearchParams> {
  const { req, request } = ctx
  const text = await readBody(req, { limit: maxFormBytes, length: request.length, encoding: 'utf-8' }).catch(
    (error: Error & { type?: unknown }) => {
      throw error.type === 'entity.too.large' ? settingsError('form-too-large', { headers: closesConnection }) : error
    },
  )
  const form = new URLSearchParams(text)
  if (!isSameSecret(form.get('csrf') ?? '', csrf)) throw settingsError('foreign-form')
  return form
}

/** In constant time; digests give both sides the same length. */
const isSameSecret = (a: string, b: string): boolean =>
  timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'))
