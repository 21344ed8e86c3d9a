import type { Instant } from '../../core/model/instant.ts'
import { type Html, html } from '../../core/pages/html.ts'
import { chinese } from './chinese.ts'
import { english, type Messages } from './english.ts'

/** The first is the default. */
export const catalogues = [english, chinese] as const satisfies readonly Messages[]

/** Such as `21 Nov 2026, 10:00 UTC`. */
export function timeIn({ language }: Messages, instant: Instant): Html {
  const format = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
  return html`<time datetime="${instant}">${format.format(Date.parse(instant))} UTC</time>`
}

export type Page = { readonly title: string; readonly content: Html }

/** Relative to a page: a proxy may serve the settings area below a path of its own. */
export type UrlOf = (path: string) => string

/** From `/keys/key_1/revoke`, `/keys` is `../../keys`. */
export const urlsFrom = (path: string): UrlOf => {
  const up = '../'.repeat(path.split('/').length - 2) || './'
  return (to) => up + to.slice(1)
}

export const csrfField = (csrf: string): Html => html`<input type="hidden" name="csrf" value="${csrf}">`

type MessageParts = {
  readonly title: string
  readonly text: string
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
