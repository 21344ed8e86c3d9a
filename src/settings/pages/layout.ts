import { html } from 'hono/html'
import type { Html } from './html.ts'
import { type Language, languageNames, languages, messagesIn } from './languages.ts'
import type { Messages } from './messages.ts'
import { type Moments, momentsIn } from './moments.ts'

/** Where the browser finds the files that every page uses. */
export type AssetPaths = { readonly style: string; readonly script: string; readonly icon: string }

/** What a page is written with. */
export type Writer = { readonly say: Messages; readonly at: Moments }

export type Page = { readonly title: string; readonly content: Html }

export type Frame = {
  readonly language: Language
  readonly assets: AssetPaths
  /** Who is signed in; `csrf` is the session's. */
  readonly owner?: { readonly team: string; readonly csrf: string } | undefined
  /** Where the same page is had in another language; undefined when only this answer holds it. */
  readonly path: string | undefined
}

export const writerIn = (language: Language): Writer => ({ say: messagesIn[language], at: momentsIn(language) })

/** The whole document around a page's content. */
export const layout = (frame: Frame, { title, content }: Page): Html => {
  const { language, assets, owner, path } = frame
  const { say } = writerIn(language)
  return html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} – ${say.area}</title>
<link rel="icon" href="${assets.icon}" type="image/svg+xml">
<link rel="stylesheet" href="${assets.style}">
<script src="${assets.script}" defer></script>
</head>
<body>
<header class="bar">
<div class="bar-inner">
<a class="brand" href="/keys"><img src="${assets.icon}" alt="" width="28" height="28"><span>${say.area}</span></a>
<div class="bar-end">
${path === undefined ? '' : languageSwitch(language, say, path)}
${owner === undefined ? '' : signedIn(owner, say)}
</div>
</div>
</header>
<main>
${content}
</main>
</body>
</html>
`
}

/** Carried by every form: proof that a page of this session sent it. */
export const csrfField = (csrf: string): Html => html`<input type="hidden" name="csrf" value="${csrf}">`

const languageSwitch = (current: Language, say: Messages, path: string): Html =>
  html`<nav class="languages" aria-label="${say.languageSwitch}">${languages.map((language) =>
    language === current
      ? html`<span aria-current="true" lang="${language}">${languageNames[language]}</span>`
      : html`<a href="${path}?language=${language}" lang="${language}" hreflang="${language}">${languageNames[language]}</a>`,
  )}</nav>`

const signedIn = ({ team, csrf }: { team: string; csrf: string }, say: Messages): Html =>
  html`<span class="team">${say.signedInFor(team)}</span>
<form method="post" action="/sign-out">${csrfField(csrf)}<button class="quiet">${say.signOut}</button></form>`
