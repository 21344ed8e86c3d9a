import { createRequire } from 'node:module'
import { Router } from '@koa/router'
import { contentSecurityPolicy, html } from '../../core/process/html.ts'
import { pageAssets, readText, respondWithFile, type StaticFile, staticFile } from '../../core/process/staticFile.ts'
import type { ApiState } from '../context.ts'

export const descriptionPath = '/api/v1/openapi.json'

const { resolve } = createRequire(import.meta.url)
const { paths, files } = pageAssets(
  '/docs',
  readText(resolve('swagger-ui-dist/swagger-ui.css')),
  readText(resolve('swagger-ui-dist/swagger-ui-bundle.js'), new URL('docs.js', import.meta.url)),
)

/** The routes that need no key: the OpenAPI description, and the page that shows it, with the files of that. */
export function publicRoutes(description: unknown): Router<ApiState, object> {
  const router = new Router<ApiState, object>({ sensitive: true })
  const json = staticFile('json', JSON.stringify(description), 'public, max-age=300')
  for (const [path, file] of [...files, ['/docs', docsPage()] as const, [descriptionPath, json] as const])
    router.get(path, (ctx) => respondWithFile(ctx, file))
  return router
}

function docsPage(): StaticFile {
  const text = html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Tidemark API</title>
    <link rel="icon" href="${paths.icon}" type="image/svg+xml">
    <link rel="stylesheet" href="${paths.style}">
    <script src="${paths.script}" defer></script>
  </head>
  <body>
    <div id="docs" data-description="${descriptionPath}"></div>
    <noscript>This page needs JavaScript. The same is in <a href="${descriptionPath}">${descriptionPath}</a>.</noscript>
  </body>
</html>
`
  // The viewer draws icons from its own style, and sends requests.
  const policy = contentSecurityPolicy({ 'img-src': "'self' data:", 'connect-src': "'self'" })
  const headers = { 'Content-Security-Policy': policy, 'Referrer-Policy': 'no-referrer' }
  return staticFile('html', String(text), 'public, no-cache', headers)
}
