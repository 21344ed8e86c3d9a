import { html } from '../../core/process/html.ts'
import type { Page } from './layout.ts'

export type MessageParts = {
  readonly title: string
  readonly text: string
  /** The page to go on with. */
  readonly link?: { readonly href: string; readonly label: string } | undefined
  /** The request id, for support. */
  readonly reference?: string | undefined
}

/** A page with nothing but a message. */
export const messagePage = ({ title, text, link, reference }: MessageParts): Page => ({
  title,
  content: html`<div class="single panel message">
<h1>${title}</h1>
<p>${text}</p>
${reference === undefined ? '' : html`<p><code>${reference}</code></p>`}
${link === undefined ? '' : html`<p class="actions"><a class="button primary" href="${link.href}">${link.label}</a></p>`}
</div>`,
})
