import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Router } from '@koa/router'
import { queryOf } from '../../core/http/query.ts'
import { type AssetPaths, contentSecurityPolicy, type Html, html, htmlDocument } from '../../core/pages/html.ts'
import { languageSwitch, preferredOf } from '../../core/pages/languages.ts'
import { pageAssets, readStyle, readText, respondWithFile, staticFile } from '../../core/pages/staticFile.ts'
import type { ApiContext, ApiMiddleware, ApiState } from '../context.ts'
import { catalogues, type Texts } from './texts.ts'

const descriptionPath = '/api/v1/openapi.json'

/** In the example request of the front page without `BASE_URL`; the page's script replaces it by the URL that the browser shows. */
const defaultOrigin = 'http://127.0.0.1:3000'
const frontScript = `const request = document.querySelector('textarea')
request.value = request.value.replace('"${defaultOrigin}/', \`"\${new URL('./', location)}\`)
request.addEventListener('focus', () => request.select())
`

/** For a page that calls the API, and whose style contains icons. */
const policyToCallApi = { 'img-src': "'self' data:", 'connect-src': "'self'" }

const assetUrl = (name: string): URL => new URL(`assets/${name}`, import.meta.url)
const front = pageAssets('/docs', readStyle(), frontScript)
const { resolve } = createRequire(import.meta.url)
/** Joined, after Chart.js, to one module: each file uses names of the files before it. */
const exploreScripts = [
  'csvText.js',
  'fieldsWithCode.js',
  'days.js',
  'series.js',
  'exploreParts.js',
  'exploreRequests.js',
  'exploreChart.js',
  'exploreTable.js',
  'explore.js',
].map(assetUrl)
const explore = pageAssets(
  '/explore',
  readStyle(assetUrl('explore.css')),
  readText(join(dirname(resolve('chart.js')), 'chart.umd.min.js'), ...exploreScripts),
)
const docs = pageAssets(
  '/docs',
  readText(resolve('swagger-ui-dist/swagger-ui.css')),
  readText(resolve('swagger-ui-dist/swagger-ui-bundle.js'), assetUrl('docs.js')),
)

const docsPage = pageFile(
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Tidemark API</title>
<link rel="icon" href=".${docs.paths.icon}" type="image/svg+xml">
<link rel="stylesheet" href=".${docs.paths.style}">
<script src=".${docs.paths.script}" defer></script>
</head>
<body>
<div id="docs" data-description=".${descriptionPath}"></div>
<noscript>This page needs JavaScript. The same is in <a href=".${descriptionPath}">${descriptionPath}</a>.</noscript>
</body>
</html>
`,
  policyToCallApi,
)

/** `/docs` and the OpenAPI description; without authentication. */
export function docsRoutes(description: unknown): Router<ApiState, object> {
  const router = new Router<ApiState, object>({ sensitive: true })
  const json = staticFile('json', JSON.stringify(description), 'public, max-age=300')
  for (const [path, file] of [...docs.files, [descriptionPath, json] as const])
    router.get(path, (ctx) => respondWithFile(ctx, file))
  // The route also matches `/docs/`, for which the relative URLs in the page would be wrong.
  router.get('/docs', (ctx) => (ctx.path === '/docs' ? respondWithFile(ctx, docsPage) : ctx.redirect('../docs')))
  return router
}

/** `/explore`, and the front page's files; without authentication. */
export function pageRoutes(): Router<ApiState, object> {
  // `strict`: the relative URLs in the page would be wrong for `/explore/`.
  const router = new Router<ApiState, object>({ sensitive: true, strict: true })
  const titleOf = (texts: Texts): string => `${texts.title} – Tidemark API`
  const pages = inEachLanguage(explore.paths, policyToCallApi, titleOf, exploreContent)
  router.get('/explore', (ctx) => respondInLanguage(ctx, pages))
  for (const [path, file] of [...front.files, ...explore.files]) router.get(path, (ctx) => respondWithFile(ctx, file))
  return router
}

/** Answers `/` for clients that prefer HTML to JSON. */
export function frontPage(baseUrl: string): ApiMiddleware {
  const request = `curl -H "Authorization: Bearer <API_KEY>" "${new URL(baseUrl, defaultOrigin)}/forms?limit=1"`
  const content = (texts: Texts): Html => frontContent(texts, request)
  const pages = inEachLanguage(front.paths, {}, () => 'Tidemark API', content)
  return (ctx, next) => {
    const isFrontPage = ctx.path === '/' && ['GET', 'HEAD'].includes(ctx.method)
    if (!isFrontPage || ctx.accepts('json', 'html') !== 'html') return next()
    respondInLanguage(ctx, pages)
    return ctx.vary('Accept')
  }
}

type PageFile = ReturnType<typeof staticFile>

function pageFile(page: Html, policy: Readonly<Record<string, string>>): PageFile {
  const headers = { 'Content-Security-Policy': contentSecurityPolicy(policy), 'Referrer-Policy': 'no-referrer' }
  return staticFile('html', String(page), 'public, no-cache', headers)
}

type PageInLanguage = Texts & { readonly page: PageFile }

/** URLs are relative, so that the page works below any path of a proxy. */
function inEachLanguage(
  paths: AssetPaths,
  policy: Readonly<Record<string, string>>,
  titleOf: (texts: Texts) => string,
  content: (texts: Texts) => Html,
): readonly [PageInLanguage, PageInLanguage] {
  const assets = { style: `.${paths.style}`, script: `.${paths.script}`, icon: `.${paths.icon}` }
  const pageIn = (texts: Texts) => {
    const page = htmlDocument({
      language: texts.language,
      title: titleOf(texts),
      assets,
      head: html`<script src="${assets.script}" type="module"></script>`,
      brand: { name: 'Tidemark API', href: './' },
      barEnd: languageSwitch(catalogues, texts, ''),
      main: content(texts),
    })
    return { ...texts, page: pageFile(page, policy) }
  }
  const [english, chinese] = catalogues
  return [pageIn(english), pageIn(chinese)]
}

function respondInLanguage(ctx: ApiContext, pages: readonly [PageInLanguage, PageInLanguage]): void {
  const { language, page } = preferredOf(pages, [...queryOf(ctx).getAll('language'), ...ctx.acceptsLanguages()])
  respondWithFile(ctx, page)
  ctx.set('Content-Language', language)
  ctx.vary('Accept-Language')
}

const frontContent = (texts: Texts, request: string): Html => html`<h1>Tidemark</h1>
<p>${texts.frontAbout}</p>
<p class="hstack"><a class="button" href="./docs" hreflang="en">${texts.docs}</a> <a class="button outline" href=".${descriptionPath}" hreflang="en">${texts.description}</a> <a class="button outline" href="./explore">${texts.title}</a></p>
<section class="card">
<h2 id="first">${texts.firstRequest}</h2>
<p id="key">${texts.keyMaker}</p>
<textarea readonly rows="4" aria-labelledby="first" aria-describedby="key">${request}</textarea>
</section>`

/** Values of `by` of `/record-counts`, and names of their texts. */
const countedNames = ['level', 'outcome', 'utmCampaign', 'answer'] as const

/** Under the name of each request in `explore.js`, its label on the page. `form` returns the questions of the chosen form; `totals`, each value's mean score. */
const requestLabels = (texts: Texts): Readonly<Record<string, string>> => ({
  forms: texts.form,
  'form-counts': texts.perForm,
  form: texts.question,
  days: texts.chart,
  totals: texts.mean,
})

/** The input of the account key has no `name`, so that the form never sends the key. */
const exploreContent = (texts: Texts): Html => html`<h1>${texts.title}</h1>
<p class="text-light about">${texts.about}</p>
<noscript><p role="alert" data-variant="warning">${texts.noScript}</p></noscript>
<form id="choices" data-texts="${JSON.stringify(texts)}">
<div class="card controls"><label for="key">${texts.key}</label>
<div class="hstack"><input id="key" type="password" required autocomplete="off"><button>${texts.show}</button></div></div>
<div class="row">
<section class="col-4 card" id="forms" aria-labelledby="forms-title">
<h2 id="forms-title">${texts.form}</h2>
<label for="title">${texts.titleSearch}</label><input id="title" type="search" maxlength="200" autocomplete="off">
${outcome}
<div class="result vstack" id="form-list" role="radiogroup" aria-labelledby="forms-title"></div>
</section>
<section class="col-8 card" id="counts" aria-labelledby="counts-title">
<h2 id="counts-title">${texts.submissions}</h2>
<div class="controls">
${choice('counted', texts.counted, countedNames, (name) => texts[name as keyof Texts])}
<div class="mb-4" id="question" hidden><label for="code">${texts.question}</label><select id="code" name="code"></select></div>
${choice('span', texts.span, ['7', '30', '90'], (days) => texts.days.replace('%', days))}
<label for="zone">${texts.timeZone}</label><select class="mb-4" id="zone" name="zone"></select>
</div>
${outcome}
<div class="result" hidden>
<figure><figcaption id="shown"></figcaption>
<div class="chart"><canvas id="chart" tabindex="0" role="application" aria-label="${texts.chart}" aria-describedby="chart-help"></canvas></div></figure>
<div class="hstack gap-1" id="legend" role="group" aria-label="${texts.valuesShown}"></div>
<p class="text-light" id="chart-help">${texts.chartHelp}</p>
<p id="point" aria-live="polite"></p>
<div class="table" tabindex="0" role="region" aria-label="${texts.numbers}"><table id="numbers"></table></div>
<button class="outline mt-4" id="csv" type="button">${texts.download}</button>
</div>
</section>
</div>
<details class="mt-6"><summary>${texts.requests}</summary>
${Object.entries(requestLabels(texts)).map(
  ([name, label]) => html`<label>${label}<textarea id="${name}-request" readonly rows="3"></textarea></label>`,
)}
</details>
</form>`

const outcome = html`<p class="text-light" role="status"></p><p role="alert" data-variant="danger"></p>`

const choice = (name: string, legend: string, values: readonly string[], label: (value: string) => string): Html =>
  html`<fieldset class="hstack"><legend>${legend}</legend>${values.map(
    (value, index) =>
      html`<label><input type="radio" name="${name}" value="${value}"${index === 0 ? html` checked` : ''}>${label(value)}</label>`,
  )}</fieldset>`
