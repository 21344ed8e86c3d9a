import type { RouterContext, RouterMiddleware } from '@koa/router'
import { parameterOf } from '../core/http/query.ts'
import type { TeamId } from '../core/model/ids.ts'
import { html, htmlDocument } from '../core/pages/html.ts'
import { languageSwitch, preferredOf } from '../core/pages/languages.ts'
import { pageAssets, readStyle, readText } from '../core/pages/staticFile.ts'
import type { Messages } from './pages/english.ts'
import { catalogues, csrfField, type Page, urlsFrom } from './pages/parts.ts'

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
 * The language in the URL (then stored in a cookie), else in the cookie, else the browser's. `isSecure`: whether cookies are `Secure`; behind a TLS
 * proxy, Koa itself sees a plain connection.
 */
export const chooseLanguage =
  (isSecure: boolean): SettingsMiddleware =>
  (ctx, next) => {
    ctx.cookies.secure = isSecure
    const sent = parameterOf(ctx, 'language')
    const chosen = catalogues.find(({ language }) => language === sent)
    if (chosen !== undefined) ctx.cookies.set(languageCookie, chosen.language, { maxAge: yearMs, sameSite: 'lax' })
    const stored = ctx.cookies.get(languageCookie)
    ctx.state.say = chosen ?? preferredOf<Messages>(catalogues, [stored, ...ctx.acceptsLanguages()])
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

/**
 * The target of the language switch; `''`: this page. Undefined after a POST, which a link cannot repeat. A sign-in link works once, so its page
 * links to the list of keys.
 */
function urlInOtherLanguages({ method, path }: SettingsContext): string | undefined {
  if (method !== 'GET' && method !== 'HEAD') return undefined
  return path === '/sign-in' ? urlsFrom(path)('/keys') : ''
}

export function seeOther(ctx: SettingsContext, path: string): void {
  ctx.status = 303
  ctx.redirect(urlsFrom(ctx.path)(path))
}
