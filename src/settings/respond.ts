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
  messages: Messages
  /** Of the signed-in owner. */
  session?: { readonly team: TeamId; readonly csrf: string }
}

export type SettingsContext = RouterContext<SettingsState, object>
export type SettingsMiddleware = RouterMiddleware<SettingsState, object>

const retryAfterSeconds = 5
const languageCookie = 'tidemark-language'
const yearMs = 365 * 86_400_000

/**
 * The language of the URL, which a cookie then stores; else of the cookie; else of the browser. `isSecure`: of cookies; Koa cannot determine this,
 * because behind a TLS proxy its connection is plain.
 */
export const chooseLanguage =
  (isSecure: boolean): SettingsMiddleware =>
  (ctx, next) => {
    ctx.cookies.secure = isSecure
    const sent = parameterOf(ctx, 'language')
    const chosen = catalogues.find(({ language }) => language === sent)
    if (chosen !== undefined) ctx.cookies.set(languageCookie, chosen.language, { maxAge: yearMs, sameSite: 'lax' })
    const stored = ctx.cookies.get(languageCookie)
    ctx.state.messages = chosen ?? preferredOf<Messages>(catalogues, [stored, ...ctx.acceptsLanguages()])
    return next()
  }

const ownFile = (name: string): URL => new URL(`assets/${name}`, import.meta.url)
export const assets = pageAssets('/assets', readStyle(ownFile('settings.css')), readText(ownFile('settings.js')))

/** Shows the page below a bar with languages and, for an owner, team and sign-out. */
export function respondWithPage(ctx: SettingsContext, status: number, { title, content }: Page): void {
  const { messages, session } = ctx.state
  const urlOf = urlsFrom(ctx.path)
  const { style, script, icon } = assets.paths
  const switchUrl = urlInOtherLanguages(ctx)
  ctx.status = status
  if (status === 503) ctx.set('Retry-After', String(retryAfterSeconds))
  ctx.type = 'html'
  ctx.set('Content-Language', messages.language)
  ctx.vary('Accept-Language, Cookie')
  const document = htmlDocument({
    language: messages.language,
    title: `${title} – ${messages.area}`,
    assets: { style: urlOf(style), icon: urlOf(icon) },
    head: html`<script src="${urlOf(script)}" defer></script>`,
    brand: { name: messages.area, href: urlOf('/keys') },
    barEnd: html`${switchUrl === undefined ? '' : languageSwitch(catalogues, messages, switchUrl)}
${
  session === undefined
    ? ''
    : html`<span class="text-light">${messages.signedInFor(session.team)}</span>
<form method="post" action="${urlOf('/sign-out')}">${csrfField(session.csrf)}<button class="outline">${messages.signOut}</button></form>`
}`,
    main: content,
  })
  ctx.body = String(document)
}

/** `''`: this page. Undefined after a POST, which a link cannot repeat. `/sign-in` leads to the list of keys, because a sign-in link works once. */
function urlInOtherLanguages({ method, path }: SettingsContext): string | undefined {
  if (method !== 'GET' && method !== 'HEAD') return undefined
  return path === '/sign-in' ? urlsFrom(path)('/keys') : ''
}

/** Redirects to a path of the settings area. */
export function seeOther(ctx: SettingsContext, path: string): void {
  ctx.status = 303
  ctx.redirect(urlsFrom(ctx.path)(path))
}
