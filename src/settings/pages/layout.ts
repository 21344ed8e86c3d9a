import { type Html, html, htmlDocument } from '../../core/process/html.ts'
import type { AssetPaths } from '../../core/process/staticFile.ts'
import type { Messages } from './english.ts'
import { type Language, languageNames, languages, messagesIn } from './languages.ts'

export type Page = { readonly title: string; readonly content: Html }

type Frame = {
  readonly language: Language
  readonly assets: AssetPaths
  /** The session of the signed-in owner. */
  readonly owner?: { readonly team: string; readonly csrf: string } | undefined
  /** Where the language switch leads; undefined when only this answer holds the page. */
  readonly path: string | undefined
}

/** The whole document around a page's content. */
export function layout(frame: Frame, { title, content }: Page): Html {
  const { language, assets, owner, path } = frame
  const say = messagesIn[language]
  return htmlDocument({
    language,
    title: `${title} – ${say.area}`,
    assets,
    head: html`<script src="${assets.script}" defer></script>`,
    brand: { name: say.area, href: '/keys' },
    barEnd: html`${path === undefined ? '' : languageSwitch(language, say, path)}
${owner === undefined ? '' : signedIn(owner, say)}`,
    main: content,
  })
}

/** The session's CSRF token, which every form carries. */
export const csrfField = (csrf: string): Html => html`<input type="hidden" name="csrf" value="${csrf}">`

const languageSwitch = (current: Language, say: Messages, path: string): Html =>
  html`<nav class="languages" aria-label="${say.languageSwitch}">${languages.map((language) =>
    language === current
      ? html`<span aria-current="true" lang="${language}">${languageNames[language]}</span>`
      : html`<a href="${path}?language=${language}" lang="${language}" hreflang="${language}">${languageNames[language]}</a>`,
  )}</nav>`

const signedIn = ({ team, csrf }: { team: string; csrf: string }, say: Messages): Html =>
  html`<span class="team">${say.signedInFor(team)}</span>
<form method="post" action="/sign-out">${csrfField(csrf)}<button>${say.signOut}</button></form>`

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
