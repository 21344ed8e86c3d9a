import type { Counter } from 'prom-client'
import type { z } from 'zod'
import { accepted, type Result, refused } from '../core/model/result.ts'
import { routeOf } from '../core/process/requestLog.ts'
import type { RouteContext } from './context.ts'
import { renderIgnored } from './ignoredParameters.ts'
import { RequestError } from './requestError.ts'

const maxShownCharacters = 64

/** Reads the parameters of a route. Throws a `bad_request`; says in a header and counts what it ignores. */
export type ParameterReader = <Schema extends z.ZodObject>(ctx: RouteContext, schema: Schema) => z.output<Schema>

export const parameterReader =
  (ignoredTotal: Counter<'route'>): ParameterReader =>
  (ctx, schema) => {
    // A question mark that the query itself begins with would be taken away.
    const query = new URLSearchParams(`?${ctx.querystring}`)
    const ignored = [...new Set(query.keys())].filter((name) => !Object.hasOwn(schema.shape, name))
    if (ignored.length > 0) {
      ignoredTotal.inc({ route: routeOf(ctx) ?? '' }, ignored.length)
      ctx.set('Ignored-Parameters', renderIgnored(ignored))
    }
    const read = readParameters(schema, query)
    if (read.ok) return read.value
    throw new RequestError({ kind: 'bad_request', message: `${read.problem.path} ${read.problem.rule}` })
  }

/** Judges the parameters that `schema` names; the first problem's rule ends with what was sent. */
export function readParameters<Schema extends z.ZodObject>(
  schema: Schema,
  query: URLSearchParams,
): Result<z.output<Schema>> {
  const sent: Record<string, string> = {}
  for (const name of Object.keys(schema.shape)) {
    const [value, ...more] = query.getAll(name)
    if (value === undefined) continue
    if (more.length > 0)
      return refused(name, `must be given only once, not as ${[value, ...more].map(show).join(' and ')}`)
    sent[name] = value
  }
  const judged = schema.safeParse(sent)
  if (judged.success) return accepted(judged.data)
  const issue = judged.error.issues[0]
  const name = String(issue?.path[0])
  return refused(name, `${issue?.message}, not ${show(sent[name] ?? '')}`)
}

function show(value: string): string {
  const characters = [...value]
  return `"${characters.slice(0, maxShownCharacters).join('')}${characters.length > maxShownCharacters ? '…' : ''}"`
}
