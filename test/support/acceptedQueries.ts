import { describeApi } from '../../src/api/openapi/openapi.ts'
import { pointer, schemaJudge } from './description.ts'

type Parameter = {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly schema: { readonly type: string }
}

const description = describeApi('/api/v1')
const judge = schemaJudge(description)

/** The value of a parameter's text by its declared type; the text itself if it is no value of that type. */
function readAs(type: string, text: string): unknown {
  if (type === 'boolean' && /^(?:true|false)$/i.test(text)) return text.toLowerCase() === 'true'
  return ['integer', 'number'].includes(type) && /^[^\s]+$/.test(text) && Number.isFinite(Number(text))
    ? Number(text)
    : text
}

/** The problems of a parameter's value by the description; empty if valid. */
export function valueProblems(path: string, name: string, text: string): readonly string[] {
  const at = parametersOf(path).findIndex((parameter) => parameter.in === 'query' && parameter.name === name)
  const type = parametersOf(path)[at]?.schema.type ?? ''
  return judge.problems(pointer('paths', path, 'get', 'parameters', String(at), 'schema'), readAs(type, text))
}

/** The problems of a request's query by the description; empty if valid, or for an undescribed path. Unknown parameters are no problem. */
export function queryProblems(target: string): readonly string[] {
  const { pathname, search } = new URL(target, 'http://api.example')
  const path = pathname
    .replace(/^\/api\/v1/, '')
    .replace(/(?<=.)\/$/, '')
    .replace(/(?<=^\/(?:forms|records)\/)[^/]+$/, '{id}')
  const query = new URLSearchParams(search)
  return parametersOf(path)
    .filter((parameter) => parameter.in === 'query')
    .flatMap(({ name, required }) => {
      const values = query.getAll(name)
      if (values.length > 1 || (required && values.length === 0)) return [`${name}: sent ${values.length} times`]
      return values.flatMap((text) => valueProblems(path, name, text).map((problem) => `${name}=${text}: ${problem}`))
    })
}

const parametersOf = (path: string): readonly Parameter[] =>
  (description.paths[path]?.get.parameters ?? []) as readonly Parameter[]
