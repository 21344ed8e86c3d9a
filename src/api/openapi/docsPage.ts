import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Router } from '@koa/router'
import { contentSecurityPolicy } from '../../core/process/html.ts'
import { hashedFile, respondWithFile, type StaticFile, staticFile } from '../../core/process/staticFile.ts'
import type { ApiMiddleware, ApiState } from '../context.ts'

const { resolve } = createRequire(import.meta.url)
const own = (name: string): string => fileURLToPath(new URL(`page/${name}`, import.meta.url))

const descriptionPath = '/api/v1/openapi.json'

/** The routes that need no key: the OpenAPI description, and the page that shows it. */
export function publicRoutes(description: unknown): Router<ApiState, object> {
  const router = new Router<ApiState, object>({ sensitive: true })
  const json = staticFile({ type: 'json', text: JSON.stringify(description), cacheControl: 'public, max-age=300' })
  router.get(descriptionPath, answer(json))
  for (const [path, file] of docsPage()) router.get(path, answer(file))
  return router
}

const answer =
  (file: StaticFile): ApiMiddleware =>
  (ctx) =>
    respondWithFile(ctx, file)

let page: ReadonlyMap<string, StaticFile> | undefined

/** The page at `/docs` and every file it needs, by path: read once, for all applications of this process. */
function docsPage(): ReadonlyMap<string, StaticFile> {
  page ??= readDocsPage()
  return page
}

function readDocsPage(): ReadonlyMap<string, StaticFile> {
  const files = new Map<string, StaticFile>()
  const add = (file: string, type: 'css' | 'js' | 'svg'): string => {
    const hashed = hashedFile('/docs', type, readFileSync(file, 'utf8'))
    files.set(hashed.path, hashed.file)
    return hashed.path
  }
  const links: Readonly<Record<string, string>> = {
    description: descriptionPath,
    viewerStyle: add(resolve('swagger-ui-dist/swagger-ui.css'), 'css'),
    ownStyle: add(own('docs.css'), 'css'),
    viewer: add(resolve('swagger-ui-dist/swagger-ui-bundle.js'), 'js'),
    start: add(own('docs.js'), 'js'),
    icon: add(own('icon.svg'), 'svg'),
  }
  const html = readFileSync(own('docs.html'), 'utf8').replaceAll(
    /\{\{(\w+)\}\}/g,
    (_, name: string) => links[name] ?? '',
  )
  // The viewer draws icons from its own style, and sends requests.
  const policy = contentSecurityPolicy({ 'img-src': "'self' data:", 'connect-src': "'self'" })
  const headers = { 'Content-Security-Policy': policy, 'Referrer-Policy': 'no-referrer' }
  files.set('/docs', staticFile({ type: 'html', text: html, cacheControl: 'public, no-cache', headers }))
  return files
}
