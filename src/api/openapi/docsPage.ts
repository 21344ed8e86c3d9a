import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Router } from '@koa/router'
import { contentSecurityPolicy, html } from '../../core/process/html.ts'
import { hashedFile, respondWithFile, type StaticFile, staticFile } from '../../core/process/staticFile.ts'
import type { ApiState } from '../context.ts'

export const descriptionPath = '/api/v1/openapi.json'

/** The routes that need no key: the OpenAPI description, and the page that shows it. */
export function publicRoutes(description: unknown): Router<ApiState, object> {
  const router = new Router<ApiState, object>({ sensitive: true })
  const json = staticFile('json', JSON.stringify(description), 'public, max-age=300')
  page ??= readDocsPage()
  for (const [path, file] of [...page, [descriptionPath, json] as const])
    router.get(path, (ctx) => respondWithFile(ctx, file))
  return router
}

/** The page at `/docs` and every file it needs, by path: read once, for all applications of this process. */
let page: ReadonlyMap<string, StaticFile> | undefined

function readDocsPage(): ReadonlyMap<string, StaticFile> {
  const files = new Map<string, StaticFile>()
  const add = (file: string | URL, type: 'css' | 'js' | 'svg'): string => {
    const hashed = hashedFile('/docs', type, readFileSync(file, 'utf8'))
    files.set(hashed.path, hashed.file)
    return hashed.path
  }
  const own = (name: string): URL => new URL(name, import.meta.url)
  const { resolve } = createRequire(import.meta.url)
  const text = html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Tidemark API</title>
    <link rel="icon" href="${add(own('../../core/process/assets/icon.svg'), 'svg')}" type="image/svg+xml">
    <link rel="stylesheet" href="${add(resolve('swagger-ui-dist/swagger-ui.css'), 'css')}">
    <link rel="stylesheet" href="${add(own('docs.css'), 'css')}">
    <script src="${add(resolve('swagger-ui-dist/swagger-ui-bundle.js'), 'js')}" defer></script>
    <script src="${add(own('docs.js'), 'js')}" defer></script>
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
  return files.set('/docs', staticFile('html', String(text), 'public, no-cache', headers))
}
