import { readFileSync } from 'node:fs'
import { Router } from '@koa/router'
import { contentSecurityPolicy, type Html, html, htmlDocument } from '../../core/process/html.ts'
import { languageSwitch, respondInLanguage } from '../../core/process/languages.ts'
import { pageAssets, readStyle, respondWithFile, type StaticFile, staticFile } from '../../core/process/staticFile.ts'
import type { ApiState } from '../context.ts'
import { catalogues, type Texts } from './texts.ts'

const own = (name: string): URL => new URL(`assets/${name}`, import.meta.url)
const { paths, files } = pageAssets('/explore', readStyle(own('explore.css')), readFileSync(own('explore.js'), 'utf8'))

/** The routes of the page, which need no key: `/explore` and the files that it loads. */
export function exploreRoutes(): Router<ApiState, object> {
  // Strict, because the URLs in the page are relative, so that it works below any path of a proxy.
  const router = new Router<ApiState, object>({ sensitive: true, strict: true })
  const [english, chinese] = catalogues
  const pages = [pageIn(english), pageIn(chinese)] as const
  router.get('/explore', (ctx) => respondInLanguage(ctx, pages))
  for (const [path, file] of files) router.get(path, (ctx) => respondWithFile(ctx, file))
  return router
}

function pageIn(say: Texts): Texts & { readonly page: StaticFile } {
  const assets = { style: `.${paths.style}`, script: `.${paths.script}`, icon: `.${paths.icon}` }
  const text = htmlDocument({
    language: say.language,
    title: `${say.title} – Tidemark API`,
    assets,
    head: html`<script src="${assets.script}" type="module"></script>`,
    brand: { name: 'Tidemark API', href: './' },
    barEnd: languageSwitch(catalogues, say, 'explore'),
    main: content(say),
  })
  const policy = contentSecurityPolicy({ 'img-src': "'self' data:", 'connect-src': "'self'" })
  const headers = { 'Content-Security-Policy': policy, 'Referrer-Policy': 'no-referrer' }
  return { ...say, page: staticFile('html', String(text), 'public, no-cache', headers) }
}

/** What is counted, by the names that the API gives it. */
const countedNames = ['level', 'outcome', 'utmCampaign', 'answer'] as const

/** The key has no name, so that no form ever sends it. */
const content = (say: Texts): Html => html`<h1>${say.title}</h1>
<p class="text-light">${say.about}</p>
<noscript><p role="alert" data-variant="warning">${say.noScript}</p></noscript>
<form id="choices" data-texts="${JSON.stringify(say)}">
<div class="card"><label for="key">${say.key}</label>
<div class="hstack"><input id="key" type="password" required autocomplete="off"><button>${say.show}</button></div></div>
<div class="row">
<section class="col-4 card" id="forms" aria-labelledby="forms-title">
<h2 id="forms-title">${say.form}</h2>
<label for="title">${say.titleSearch}</label><input id="title" type="search" maxlength="200" autocomplete="off">
${outcome}
<div class="result vstack" id="form-list" role="radiogroup" aria-labelledby="forms-title"></div>
</section>
<section class="col-8 card" id="counts" aria-labelledby="counts-title">
<h2 id="counts-title">${say.submissions}</h2>
${choice('counted', say.counted, countedNames, (name) => say[name as keyof Texts])}
<div class="mb-4" id="question" hidden><label for="code">${say.question}</label><select id="code" name="code"></select></div>
${choice('span', say.span, ['7', '30', '90'], (days) => say.days.replace('%', days))}
${outcome}
<div class="result" hidden>
<p class="text-light" id="highest" aria-hidden="true"></p>
<div id="bars" role="img" aria-label="${say.chart}"></div>
<p class="text-light hstack justify-between" aria-hidden="true"><span id="first"></span><span id="last"></span></p>
<div class="table" tabindex="0" role="region" aria-label="${say.numbers}"><table id="numbers"></table></div>
</div>
</section>
</div>
<details class="mt-6"><summary>${say.requests}</summary>
${Object.entries({ forms: say.form, form: say.question, days: say.chart, totals: say.mean }).map(
  ([name, label]) => html`<label>${label}<textarea id="${name}-request" readonly rows="3"></textarea></label>`,
)}
</details>
</form>`

/** Where the script tells how the work of a section ended. */
const outcome = html`<p class="text-light" role="status"></p><p role="alert" data-variant="danger"></p>`

/** A choice of one value; the first is chosen. */
const choice = (name: string, legend: string, values: readonly string[], label: (value: string) => string): Html =>
  html`<fieldset class="hstack"><legend>${legend}</legend>${values.map(
    (value, at) =>
      html`<label><input type="radio" name="${name}" value="${value}"${at === 0 ? html` checked` : ''}>${label(value)}</label>`,
  )}</fieldset>`
