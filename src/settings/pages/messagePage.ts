import { html } from 'hono/html'
import type { Html } from './html.ts'
import type { Page } from './layout.ts'
import type { Notice } from './messages.ts'

export type MessageParts = Notice & {
  /** Where a person goes from here. */
  readonly link?: { readonly href: string; readonly label: string } | undefined
  /** What support asks for. */
  readonly reference?: string | undefined
}

/** A page that only says something. */
export const messagePage = ({ title, text, link, reference }: MessageParts): Page => ({
  title,
  content: html`<div class="single panel message">
<h1>${title}</h1>
<p>${text}</p>
${reference === undefined ? '' : html`<p><code>${reference}</code></p>`}
${link === undefined ? '' : linkTo(link)}
</div>`,
})

const linkTo = ({ href, label }: NonNullable<MessageParts['link']>): Html =>
  html`<p class="actions"><a class="button primary" href="${href}">${label}</a></p>`
