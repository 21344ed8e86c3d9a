import type { HttpAnswer, HttpRequest } from './connection.ts'
import { indexRoutes } from './indexRoutes.ts'
import { expectOnly, notSimulated, Refusal } from './refusal.ts'
import { type Call, type Query, Reply, type Route } from './route.ts'
import { searchRoutes } from './searchRoutes.ts'
import type { SimulatedElasticsearch } from './simulatedElasticsearch.ts'

/** Method and path → route. `{names}` matches names and patterns of indices, `{last}` one name or id. */
const routes: Readonly<Record<string, Route>> = { ...indexRoutes, ...searchRoutes }

/** Answers an HTTP request to the cluster. */
export async function answerRequest(cluster: SimulatedElasticsearch, request: HttpRequest): Promise<HttpAnswer> {
  const { filter_path: filter, ...query } = Object.fromEntries(request.query)
  try {
    const { route, call } = findRoute(request, query)
    expectOnly(route.options, query, request.path)
    const result = await route.run(cluster, call)
    if (result instanceof Reply) return { status: result.status, body: JSON.stringify(result.body) }
    if (typeof result === 'string') return { status: 200, body: result }
    const paths = filter?.split(',').map((path) => path.split('.'))
    return { status: 200, body: JSON.stringify(paths === undefined ? result : (filterPath(result, paths) ?? {})) }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { status: error.status, body: JSON.stringify(error.body) }
  }
}

function findRoute({ method, path, body }: HttpRequest, query: Query): { readonly route: Route; readonly call: Call } {
  const parts = path.split('/').slice(1).map(decodeURIComponent)
  const [first = '', second] = parts
  const isNamed = first !== '' && !first.startsWith('_')
  const names = isNamed ? first.split(',') : []
  const fixed = [
    isNamed ? '{names}' : first,
    ...(second === undefined ? [] : [second]),
    ...(parts.length === 3 ? ['{last}'] : []),
  ]
  const route = routes[`${method} /${fixed.join('/')}`]
  if (route === undefined || parts.length > 3) throw notSimulated(`${method} ${path}`)
  return { route, call: { names, last: parts[2] ?? '', query, body } }
}

/** Applies `filter_path`: the parts of a value that any path selects; `*` matches one name. Undefined if there are none. */
function filterPath(value: unknown, paths: readonly (readonly string[])[]): unknown {
  if (paths.some((path) => path.length === 0)) return value
  if (Array.isArray(value)) {
    const parts = value.map((element) => filterPath(element, paths)).filter((element) => element !== undefined)
    return parts.length === 0 ? undefined : parts
  }
  if (typeof value !== 'object' || value === null) return undefined
  const members = Object.entries(value).flatMap(([name, member]) => {
    const deeper = paths.filter(([first]) => first === '*' || first === name).map((path) => path.slice(1))
    const part = deeper.length === 0 ? undefined : filterPath(member, deeper)
    return part === undefined ? [] : [[name, part] as const]
  })
  return members.length === 0 ? undefined : Object.fromEntries(members)
}
