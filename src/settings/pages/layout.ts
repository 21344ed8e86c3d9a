import type { Instant } from '../../core/model/instant.ts'
import { type AssetPaths, type Html, html, htmlDocument } from '../../core/process/html.ts'
import { languageSwitch } from '../../core/process/languages.ts'
import { chinese } from './chinese.ts'
import { english, type Messages } from './english.ts'

/** The languages of the settings area; the first is the default. */
export const catalogues = [english, chinese] as const satisfies readonly Messages[]

/** A time in UTC, to the minute. */
export function timeIn({ language }: Messages, instant: Instant, attributes: Html | '' = ''): Html {
  const format = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
  return html`<time datetime="${instant}"${attributes}>${format.format(Date.parse(instant))} UTC</time>`
}

/** With JavaScript, the browser shows how long ago the time was instead. */
export const timeAgo = (say: Messages, instant: Instant): Html => timeIn(say, instant, html` data-ago`)

export type Page = { readonly title: string; readonly content: Html }

type Frame = {
  readonly say: Messages
  readonly assets: AssetPaths
  /** The session of the signed-in owner. */
  readonly session: { readonly team: string; readonly csrf: string } | undefined
  /** Where the language switch leads; undefined when only this answer holds the page. */
  readonly path: string | undefined
}

/** The whole document around a page's content. */
export const layout = ({ say, assets, session, path }: Frame, { title, content }: Page): Html =>
  htmlDocument({
    language: say.language,
    title: `${title} – ${say.area}`,
    assets,
    head: html`<script src="${assets.script}" defer></script>`,
    brand: { name: say.area, href: '/keys' },
    barEnd: html`${path === undefined ? '' : languageSwitch(catalogues, say, path)}
${
  session === undefined
    ? ''
    : html`<span class="text-light">${say.signedInFor(session.team)}</span>
<form method="post" action="/sign-out">${csrfField(session.csrf)}<button class="outline">${say.signOut}</button></form>`
}`,
    main: content,
  })

/** The session's CSRF token, which every form carries. */
export const csrfField = (csrf: string): Html => html`<input type="hidden" name="csrf" value="${csrf}">`

type MessageParts = {
  readonly title: string
  readonly text: string
  /** The page to go on with. */
  readonly link?: { readonly href: string | undefined; readonly label: string }
  /** The request id, for support. */
  readonly reference?: string | undefined
}

export const messagePage = ({ title, text, link, reference }: MessageParts): Page => ({
  title,
  content: html`<div class="single card">
<h1>${title}</h1>
<p>${text}</p>
${reference === undefined ? '' : html`<p><code>${reference}</code></p>`}
${link?.href === undefined ? '' : html`<p><a class="button" href="${link.href}">${link.label}</a></p>`}
</div>`,
})
