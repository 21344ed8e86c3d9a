import { HttpInstrumentation } from '@opentelemetry/instrumentation-http'
import { IORedisInstrumentation } from '@opentelemetry/instrumentation-ioredis'
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici'

const operatorPaths = /^\/(livez|readyz|metrics|status)\b/
const routes = [
  [/^\/api\/v1\/(forms|records)\/[^/?]+\/?(\?|$)/, (list) => `/api/v1/${list}/:id`],
  [/^\/(api\/v1\/[a-z-]+(?:\.json)?|docs|keys|sign-in)\/?(\?|$)/, (path) => `/${path}`],
]

/** The pattern of a route that a request is for; undefined for any other path, which could hold anything. */
function routeOf(url = '') {
  for (const [pattern, name] of routes) {
    const [, part] = pattern.exec(url) ?? []
    if (part !== undefined) return name(part)
  }
  return undefined
}

/** The Elasticsearch API in a path: `search` in `/a,b/_search`. */
const apiOf = (path) => /\/_([a-z_]+)/.exec(path)?.[1] ?? 'index'

/**
 * OpenTelemetry's own instrumentations of what Tidemark serves and requests. That of KafkaJS is left out: it makes two spans for each record, loses them before
 * the bulk request, and adds headers to dead letters and key records. `records.mjs` takes its place.
 */
export const instrumentations = () => [
  new HttpInstrumentation({
    // Everything Tidemark asks by HTTP goes through undici.
    disableOutgoingRequestInstrumentation: true,
    ignoreIncomingRequestHook: ({ url = '' }) => operatorPaths.test(url),
    requestHook: (span, request) => {
      const route = routeOf(request.url)
      if (route === undefined) return
      span.setAttribute('http.route', route)
      span.updateName(`${request.method} ${route}`)
    },
  }),
  new UndiciInstrumentation({
    requireParentforSpans: true,
    requestHook: (span, { path }) => {
      const operation = apiOf(path)
      span.setAttributes({ 'db.system.name': 'elasticsearch', 'db.operation.name': operation })
      span.updateName(`elasticsearch ${operation}`)
    },
  }),
  new IORedisInstrumentation({
    requireParentSpan: true,
    dbStatementSerializer: (command) => command,
    requestHook: (span, { cmdName }) => span.updateName(`redis ${cmdName}`),
  }),
]
