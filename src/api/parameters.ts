import { Counter, type Registry } from 'prom-client'
import type { z } from 'zod'
import { accepted, type Result, refused } from '../core/model/result.ts'
import { routeOf } from '../core/process/requests.ts'
import type { ParameterReader } from './context.ts'
import { apiError } from './errors.ts'

const maxShownCharacters = 64
/** Bounds of the `Ignored-Parameters` header. */
const maxIgnoredNames = 10
const maxIgnoredBytes = 256

/** Creates the reader of the routes' parameters. Unknown parameters are ignored, named in a header and counted. */
export function parameterReader(registry: Registry): ParameterReader {
  const ignoredTotal = new Counter({
    name: 'tidemark_http_ignored_parameters_total',
    help: 'Unknown query parameters, which are ignored',
    labelNames: ['route'],
    registers: [registry],
  })
  return (ctx, schema) => {
    // Without this question mark, URLSearchParams would strip one that the query itself begins with.
    const query = new URLSearchParams(`?${ctx.querystring}`)
    const ignored = [...new Set(query.keys())].filter((name) => !Object.hasOwn(schema.shape, name))
    if (ignored.length > 0) {
      ignoredTotal.inc({ route: routeOf(ctx) ?? '' }, ignored.length)
      ctx.set('Ignored-Parameters', renderIgnored(ignored))
    }
    const read = readParameters(schema, query)
    if (read.ok) return read.value
    throw apiError('bad_request', `${read.problem.path} ${read.problem.rule}`)
  }
}

/** Validates the parameters that `schema` names. The rule of the first problem ends with the value that was sent, if any. */
function readParameters<Schema extends z.ZodObject>(schema: Schema, query: URLSearchParams): Result<z.output<Schema>> {
  const sent: Record<string, string> = {}
  for (const name of Object.keys(schema.shape)) {
    const [value, ...more] = query.getAll(name)
    if (value === undefined) continue
    if (more.length > 0)
      return refused(name, `must be given only once, not as ${[value, ...more].map(show).join(' and ')}`)
    sent[name] = value
  }
  const parsed = schema.safeParse(sent)
  if (parsed.success) return accepted(parsed.data)
  const issue = parsed.error.issues[0]
  const name = String(issue?.path[0])
  const value = sent[name]
  return refused(name, value === undefined ? `${issue?.message}` : `${issue?.message}, not ${show(value)}`)
}

function show(value: string): string {
  const characters = [...value]
  return `"${characters.slice(0, maxShownCharacters).join('')}${characters.length > maxShownCharacters ? '…' : ''}"`
}

/** The value of `Ignored-Parameters`: as many percent-encoded names as fit. The first name is truncated if it alone is too long. */
function renderIgnored(names: readonly string[]): string {
  const [first = '', ...rest] = names.slice(0, maxIgnoredNames)
  let value = truncate(first)
  for (const name of rest) {
    const longer = `${value}, ${encodeURIComponent(name)}`
    if (longer.length > maxIgnoredBytes) break
    value = longer
  }
  return value
}

function truncate(name: string): string {
  const characters = [...name].slice(0, maxIgnoredBytes)
  while (encodeURIComponent(characters.join('')).length > maxIgnoredBytes) characters.pop()
  return encodeURIComponent(characters.join(''))
}
