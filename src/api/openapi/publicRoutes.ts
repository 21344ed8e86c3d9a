import { Router } from '@koa/router'
import { respondWithFile, type StaticFile, staticFile } from '../../core/process/staticFile.ts'
import type { ApiMiddleware, ApiState } from '../context.ts'
import { docsPage } from './docsPage.ts'

const descriptionPath = '/api/v1/openapi.json'

/** The routes that need no key: the OpenAPI description, and the page that shows it. */
export function publicRoutes(description: unknown): Router<ApiState, object> {
  const router = new Router<ApiState, object>({ sensitive: true })
  const json = staticFile({ type: 'json', text: JSON.stringify(description), cacheControl: 'public, max-age=300' })
  router.get(descriptionPath, answer(json))
  for (const [path, file] of docsPage(descriptionPath)) router.get(path, answer(file))
  return router
}

const answer =
  (file: StaticFile): ApiMiddleware =>
  (ctx) =>
    respondWithFile(ctx, file)
