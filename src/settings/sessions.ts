import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import readBody from 'raw-body'
import type { TeamId } from '../core/model/ids.ts'
import { fromRedis, type RedisConnection } from '../core/redis/redis.ts'
import { settingsError } from './errors.ts'
import type { SettingsContext, SettingsMiddleware } from './respond.ts'

/** A person whom the product has signed in, and the team. */
type Owner = { readonly team: TeamId; readonly sub: string }

/** `csrf` is in every form; `secret` never leaves the server; only the browser keeps `id`. */
export type OpenSession = Owner & { readonly csrf: string; readonly secret: string; readonly id: string }

export const sessionLifeMs = 15 * 60_000
const randomLength = 32
const idPattern = /^[A-Za-z0-9_-]{43}$/

/** Answers a request of a signed-in owner; `form` is empty unless the request is a POST. */
type OwnerHandler = (ctx: SettingsContext, session: OpenSession, form: URLSearchParams) => Promise<void>

export type Sessions = ReturnType<typeof createSessions>

/**
 * Sessions by a cookie that holds their id. Redis has them under the digest of the id: whoever reads Redis cannot take a session over. The
 * prefix `__Host-` keeps other hosts of the same domain from setting the cookie.
 */
export function createSessions({ client, keys }: RedisConnection, isSecure: boolean) {
  const cookie = isSecure ? '__Host-tidemark-session' : 'tidemark-session'
  const random = (): string => randomBytes(randomLength).toString('base64url')
  const keyOf = (id: string): string => keys.session(hash('sha256', id))
  const idIn = (ctx: SettingsContext): string | undefined => {
    const id = ctx.cookies.get(cookie)
    return id !== undefined && idPattern.test(id) ? id : undefined
  }
  return {
    /** Opens a session, and ends the one that the browser had: against session fixation. */
    start: async (ctx: SettingsContext, owner: Owner): Promise<void> => {
      const former = idIn(ctx)
      if (former !== undefined) await fromRedis(client.del(keyOf(former)))
      const [session, id] = [{ ...owner, csrf: random(), secret: random() }, random()]
      await fromRedis(client.set(keyOf(id), JSON.stringify(session), 'PX', sessionLifeMs))
      ctx.state.session = session
      ctx.cookies.set(cookie, id, { sameSite: 'lax' })
    },
    end: async (ctx: SettingsContext, { id }: Pick<OpenSession, 'id'>): Promise<void> => {
      await fromRedis(client.del(keyOf(id)))
      ctx.cookies.set(cookie)
    },
    /** Ends any request that no signed-in owner sent with `no-session`, and a POST without the session's CSRF token with `foreign-form`. */
    forOwner:
      (handle: OwnerHandler): SettingsMiddleware =>
      async (ctx) => {
        const id = idIn(ctx) ?? ''
        const text = id === '' ? null : await fromRedis(client.get(keyOf(id)))
        // Unknown, expired or ended.
        if (text === null) throw settingsError('no-session')
        const session = { ...(JSON.parse(text) as Omit<OpenSession, 'id'>), id }
        ctx.state.session = session
        await handle(ctx, session, ctx.method === 'POST' ? await readForm(ctx, session.csrf) : new URLSearchParams())
      },
  }
}

/** Rejects a request other than GET and HEAD unless the browser says that a page of `origin` sent it, in `Origin` or, without that, in `Sec-Fetch-Site`. */
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

/** The rest of the body stays unread; on a kept-alive connection it would be parsed as the next request. */
const headers = { Connection: 'close' }

async function readForm(ctx: SettingsContext, csrf: string): Promise<URLSearchParams> {
  const { req, request } = ctx
  const text = await readBody(req, { limit: maxFormBytes, length: request.length, encoding: 'utf-8' }).catch(
    (error: Error & { type?: unknown }) => {
      throw error.type === 'entity.too.large' ? settingsError('form-too-large', { headers }) : error
    },
  )
  const form = new URLSearchParams(text)
  if (!isSameSecret(form.get('csrf') ?? '', csrf)) throw settingsError('foreign-form')
  return form
}

/** Compares in constant time; digests give both sides the same length. */
const isSameSecret = (a: string, b: string): boolean =>
  timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'))
