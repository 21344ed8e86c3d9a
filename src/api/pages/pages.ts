import { createRequire } from 'node:module'
import { Router } from '@koa/router'
import { queryOf } from '../../core/http/query.ts'
import { type AssetPaths, contentSecurityPolicy, type Html, html, htmlDocument } from '../../core/pages/html.ts'
import { languageSwitch, preferredOf } from '../../core/pages/languages.ts'
import { pageAssets, readStyle, readText, respondWithFile, staticFile } from '../../core/pages/staticFile.ts'
import type { ApiContext, ApiMiddleware, ApiState } from '../context.ts'
import { catalogues, type Texts } from './texts.ts'

const descriptionPath = '/api/v1/openapi.json'

/** Without `BASE_URL`, the front page shows this origin, and the page's script replaces it by the browser's origin. */
const defaultOrigin = 'http://127.0.0.1:3000'
const frontScript = `const request = document.querySelector('textarea')
request.value = request.value.replace('"${defaultOrigin}/', \`"\${new URL('./', location)}\`)
request.addEventListener('focus', () => request.select())
`

/** For a page that calls the API, and whose style contains icons. */
const callsApi = { 'img-src': "'self' data:", 'connect-src': "'self'" }

const assetUrl = (name: string): URL => new URL(`assets/${name}`, import.meta.url)
const front = pageAssets('/docs', readStyle(), frontScript)
const explore = pageAssets(
  '/explore',
  readStyle(assetUrl('explore.css')),
  readText(assetUrl('fieldsWithCode.js'), assetUrl('explore.js')),
)
const { resolve } = createRequire(import.meta.url)
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
  callsApi,
)

/** Served without authentication. */
export function docsRoutes(description: unknown): Router<ApiState, object> {
  const router = new Router<ApiState, object>({ sensitive: true })
  const json = staticFile('json', JSON.stringify(description), 'public, max-age=300')
  for (const [path, file] of [...docs.files, [descriptionPath, json] as const])
    router.get(path, (ctx) => respondWithFile(ctx, file))
  // `/docs/` is redirected, because the URLs in the page are relative.
  router.get('/docs', (ctx) => (ctx.path === '/docs' ? respondWithFile(ctx, docsPage) : ctx.redirect('../docs')))
  return router
}

/** `/explore`, and the front page's files; without authentication. */
export function pageRoutes(): Router<ApiState, object> {
  // Strict about the trailing slash, because the URLs in `/explore` are relative.
  const router = new Router<ApiState, object>({ sensitive: true, strict: true })
  const pages = inEachLanguage(explore.paths, callsApi, (say) => `${say.title} – Tidemark API`, exploreContent)
  router.get('/explore', (ctx) => respondInLanguage(ctx, pages))
  for (const [path, file] of [...front.files, ...explore.files]) router.get(path, (ctx) => respondWithFile(ctx, file))
  return router
}

/** Only clients that prefer HTML over JSON, as browsers do, get the front page. */
export function frontPage(baseUrl: string): ApiMiddleware {
  const request = `curl -H "Authorization: Bearer <API_KEY>" "${new URL(baseUrl, defaultOrigin)}/forms?limit=1"`
  const content = (say: Texts): Html => frontContent(say, request)
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

/** File URLs are relative, so that the page works below any path of a proxy. */
function inEachLanguage(
  paths: AssetPaths,
  policy: Readonly<Record<string, string>>,
  titleOf: (say: Texts) => string,
  content: (say: Texts) => Html,
): readonly [PageInLanguage, PageInLanguage] {
  const assets = { style: `.${paths.style}`, script: `.${paths.script}`, icon: `.${paths.icon}` }
  const pageIn = (say: Texts) => {
    const page = htmlDocument({
      language: say.language,
      title: titleOf(say),
      assets,
      head: html`<script src="${assets.script}" type="module"></script>`,
      brand: { name: 'Tidemark API', href: './' },
      barEnd: languageSwitch(catalogues, say, ''),
      main: content(say),
    })
    return { ...say, page: pageFile(page, policy) }
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

const frontContent = (say: Texts, request: string): Html => html`<h1>Tidemark</h1>
<p>${say.frontAbout}</p>
<p class="hstack"><a class="button" href="./docs" hreflang="en">${say.docs}</a> <a class="button outline" href=".${descriptionPath}" hreflang="en">${say.description}</a> <a class="button outline" href="./explore">${say.title}</a></p>
<section class="card">
<h2 id="first">${say.firstRequest}</h2>
<p id="key">${say.keyMaker}</p>
<textarea readonly rows="4" aria-labelledby="first" aria-describedby="key">${request}</textarea>
</section>`

const countedNames = ['level', 'outcome', 'utmCampaign', 'answer'] as const

/** The input of the account key has no `name`, so that the form never sends the key. */
const exploreContent = (say: Texts): Html => html`<h1>${say.title}</h1>
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

/** Where the script shows the result or the error of a section. */
const outcome = html`<p class="text-light" role="status"></p><p role="alert" data-variant="danger"></p>`

const choice = (name: string, legend: string, values: readonly string[], label: (value: string) => string): Html =>
  html`<fieldset class="hstack"><legend>${legend}</legend>${values.map(
    (value, at) =>
      html`<label><input type="radio" name="${name}" value="${value}"${at === 0 ? html` checked` : ''}>${label(value)}</label>`,
  )}</fieldset>`
