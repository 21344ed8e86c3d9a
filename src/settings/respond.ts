import type { RouterContext, RouterMiddleware } from '@koa/router'
import { parameterOf } from '../core/http/query.ts'
import type { TeamId } from '../core/model/ids.ts'
import { html, htmlDocument } from '../core/pages/html.ts'
import { languageSwitch, preferredOf } from '../core/pages/languages.ts'
import { pageAssets, readStyle, readText } from '../core/pages/staticFile.ts'
import type { Messages } from './pages/english.ts'
import { catalogues, csrfField, type Page, urlsFrom } from './pages/parts.ts'

/** What middleware has found out about a request: the texts of its language, and the session once its cookie was found valid. */
export type SettingsState = {
  requestId: string
  say: Messages
  session?: { readonly team: TeamId; readonly csrf: string }
}

export type SettingsContext = RouterContext<SettingsState, object>
export type SettingsMiddleware = RouterMiddleware<SettingsState, object>

const retryAfterSeconds = 5
const languageCookie = 'tidemark-language'
const yearMs = 365 * 86_400_000

/**
 * Chooses the language of the answer: the URL's `language`, which a cookie then keeps, else the cookie's, else the browser's. Cookies are `Secure`
 * for an origin of https:// alone: behind a TLS proxy, Koa itself sees a plain connection.
 */
export const chooseLanguage =
  (isSecure: boolean): SettingsMiddleware =>
  (ctx, next) => {
    ctx.cookies.secure = isSecure
    const sent = parameterOf(ctx, 'language')
    const asked = catalogues.find(({ language }) => language === sent)
    if (asked !== undefined) ctx.cookies.set(languageCookie, asked.language, { maxAge: yearMs, sameSite: 'lax' })
    const kept = ctx.cookies.get(languageCookie)
    ctx.state.say = asked ?? preferredOf<Messages>(catalogues, [kept, ...ctx.acceptsLanguages()])
    return next()
  }

const own = (name: string): URL => new URL(`assets/${name}`, import.meta.url)
export const assets = pageAssets('/assets', readStyle(own('settings.css')), readText(own('settings.js')))

export function respondWithPage(ctx: SettingsContext, status: number, { title, content }: Page): void {
  const { say, session } = ctx.state
  const at = urlsFrom(ctx.path)
  const { style, script, icon } = assets.paths
  const other = urlInOtherLanguages(ctx)
  ctx.status = status
  if (status === 503) ctx.set('Retry-After', String(retryAfterSeconds))
  ctx.type = 'html'
  ctx.set('Content-Language', say.language)
  ctx.vary('Accept-Language, Cookie')
  const document = htmlDocument({
    language: say.language,
    title: `${title} – ${say.area}`,
    assets: { style: at(style), icon: at(icon) },
    head: html`<script src="${at(script)}" defer></script>`,
    brand: { name: say.area, href: at('/keys') },
    barEnd: html`${other === undefined ? '' : languageSwitch(catalogues, say, other)}
${
  session === undefined
    ? ''
    : html`<span class="text-light">${say.signedInFor(session.team)}</span>
<form method="post" action="${at('/sign-out')}">${csrfField(session.csrf)}<button class="outline">${say.signOut}</button></form>`
}`,
    main: content,
  })
  ctx.body = String(document)
}

/** Where the language switch leads: undefined for the answer to a form, which no GET repeats. A sign-in link works once, so that the list of keys stands in for it. */
function urlInOtherLanguages({ method, path }: SettingsContext): string | undefined {
  if (method !== 'GET' && method !== 'HEAD') return undefined
  return path === '/sign-in' ? urlsFrom(path)('/keys') : ''
}

/** Redirects the browser to another page, which it requests with GET (303 See Other). */
export function seeOther(ctx: SettingsContext, path: string): void {
  ctx.status = 303
  ctx.redirect(urlsFrom(ctx.path)(path))
}
