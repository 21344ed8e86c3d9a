import { createHash, timingSafeEqual } from 'node:crypto'
import readBody from 'raw-body'
import type { SettingsContext, SettingsMiddleware } from './context.ts'
import type { SessionCookie } from './cookies.ts'
import { settingsError } from './errors.ts'
import type { OpenSession, Sessions } from './sessions.ts'

/** Makes handlers that run for a signed-in owner only; any other request ends with `no-session`. */
export type RequireSession = {
  page(handle: (ctx: SettingsContext, session: OpenSession) => Promise<void>): SettingsMiddleware
  /** For POST: the handler also gets the form, once its CSRF token was found to be the session's. */
  form(handle: (ctx: SettingsContext, session: OpenSession, form: URLSearchParams) => Promise<void>): SettingsMiddleware
}

export function requireSession(sessions: Sessions, cookie: SessionCookie): RequireSession {
  const sessionOf = async (ctx: SettingsContext): Promise<OpenSession> => {
    const id = cookie.read(ctx)
    const session = id === undefined ? null : await sessions.find(id)
    if (session === null) throw settingsError('no-session')
    ctx.state.session = session
    return session
  }
  return {
    page: (handle) => async (ctx) => handle(ctx, await sessionOf(ctx)),
    form: (handle) => async (ctx) => {
      const session = await sessionOf(ctx)
      await handle(ctx, session, await readForm(ctx, session))
    },
  }
}

const maxFormBytes = 16 * 1024

/** The rest of the body stays unread; on a kept-alive connection it would be parsed as the next request. */
const headers = { Connection: 'close' }

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

/** Reads the body of a form, and rejects it unless it holds the session's CSRF token. */
async function readForm(ctx: SettingsContext, session: OpenSession): Promise<URLSearchParams> {
  const isForm = ctx.is('application/x-www-form-urlencoded') !== false && ctx.get('Content-Encoding') === ''
  if (!isForm) throw settingsError('no-form', { headers })
  const form = new URLSearchParams(await readText(ctx))
  if (!isSameSecret(form.get('csrf') ?? '', session.csrf)) throw settingsError('foreign-form')
  return form
}

async function readText(ctx: SettingsContext): Promise<string> {
  try {
    return await readBody(ctx.req, { limit: maxFormBytes, length: ctx.request.length, encoding: 'utf-8' })
  } catch (error) {
    if ((error as { type?: unknown }).type === 'entity.too.large') throw settingsError('form-too-large', { headers })
    throw error
  }
}

/** Compares in constant time; digests give both sides the same length. */
const isSameSecret = (a: string, b: string): boolean => timingSafeEqual(sha256(a), sha256(b))

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()
