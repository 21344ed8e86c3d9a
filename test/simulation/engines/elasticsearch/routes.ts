import type { Index } from './catalog.ts'
import type { Cluster } from './cluster.ts'
import type { HttpAnswer, HttpRequest } from './connection.ts'
import { filterPath } from './filterPath.ts'
import { multiGet, type ReadDocument, sourceOf } from './gets.ts'
import { expectOnly, notSimulated, Refusal } from './refusal.ts'
import { count, search } from './search.ts'
import { contextMissing, targetOf } from './snapshots.ts'
import { indexStats } from './stats.ts'

type Json = Readonly<Record<string, unknown>>
type Query = Readonly<Partial<Record<string, string>>>

/** A request to a route: the names in its path, the name or id behind `_source`, `_alias` and the like, its options and its body. */
type Call = { readonly names: readonly string[]; readonly last: string; readonly query: Query; readonly body: string }

/** An answer with a status of its own. */
class Reply {
  readonly status: number
  readonly body: object

  constructor(status: number, body: object) {
    this.status = status
    this.body = body
  }
}

/** What a route answers: JSON text, a value to be rendered, or one with a status. */
type Result = string | object | Reply
type Route = {
  readonly options: readonly string[]
  run(cluster: Cluster, call: Call): Result | Promise<Result>
}

const acknowledged = { acknowledged: true }

/** By method and path. `{names}` stands for names and patterns of indices, `{last}` for one name or id. */
const routes: Readonly<Record<string, Route>> = {
  'HEAD /{names}': {
    options: [],
    run: ({ catalog }, { names }) => catalog.find(names),
  },
  'GET /{names}': {
    options: ['features', 'expand_wildcards'],
    run: ({ catalog }, { names }) =>
      Object.fromEntries(catalog.find(names).map((index) => [index.name, stateOf(index)])),
  },
  'PUT /{names}': {
    options: [],
    run: ({ catalog }, { names, body }) => {
      const name = only(names)
      catalog.create(name, json(body))
      return { ...acknowledged, shards_acknowledged: true, index: name }
    },
  },
  'DELETE /{names}': {
    options: ['ignore_unavailable'],
    run: ({ catalog }, { names, query }) => {
      catalog.delete(catalog.find(names, query['ignore_unavailable'] === 'true'))
      return acknowledged
    },
  },
  'GET /{names}/_alias': {
    options: [],
    run: ({ catalog }, { names }) =>
      Object.fromEntries(
        catalog.find(names).map(({ name, aliases }) => [name, { aliases: Object.fromEntries(aliases) }]),
      ),
  },
  'POST /_aliases': {
    options: [],
    run: ({ catalog }, { body }) => {
      const { actions, ...others } = json(body)
      expectOnly([], others, 'the aliases')
      return catalog.updateAliases(actions as Parameters<typeof catalog.updateAliases>[0])
    },
  },
  'PUT /{names}/_settings': {
    options: [],
    run: ({ catalog }, { names, body }) => {
      expectOnly(['index.blocks.write'], json(body), 'settings')
      for (const index of catalog.find(names)) index.hasWriteBlock = json(body)['index.blocks.write'] === true
      return acknowledged
    },
  },
  'PUT /{names}/_block/{last}': {
    options: [],
    run: ({ catalog }, { names, last }) => {
      if (last !== 'write') throw notSimulated(`the block ${last}`)
      const indices = catalog.find(names)
      // Each document of a bulk request in progress looks at the block by itself, so there is nothing to wait for.
      for (const index of indices) index.hasWriteBlock = true
      const blocked = indices.map(({ name }) => ({ name, blocked: true }))
      return { ...acknowledged, shards_acknowledged: true, indices: blocked }
    },
  },
  'GET /{names}/_refresh': {
    options: [],
    run: async (cluster, { names }) => ({ _shards: await cluster.refresh(cluster.catalog.find(names)) }),
  },
  'GET /{names}/_stats': { options: ['level'], run: statsOf },
  'GET /{names}/_stats/{last}': { options: ['level'], run: statsOf },
  'GET /_cluster/health': {
    options: ['master_timeout', 'timeout'],
    run: (cluster) => cluster.health(cluster.catalog.all()),
  },
  'GET /_cluster/health/{last}': {
    options: ['timeout'],
    run: (cluster, { last }) => {
      const found = cluster.catalog.find(last.split(','), true)
      const isMissing = last.split(',').some((name) => cluster.catalog.find([name], true).length === 0)
      // Elasticsearch waits for what is missing.
      return isMissing
        ? new Reply(408, { ...cluster.health(found), status: 'red', timed_out: true })
        : cluster.health(found)
    },
  },
  'GET /_cluster/settings': {
    options: ['master_timeout', 'include_defaults'],
    run: () => ({ persistent: { cluster: { no_master_block: 'all' } }, transient: {}, defaults: {} }),
  },
  'POST /_bulk': {
    options: ['require_alias'],
    run: async (cluster, { query, body }) => {
      if (query['require_alias'] !== 'true') throw notSimulated('a bulk request without require_alias')
      return await cluster.write(body)
    },
  },
  'POST /{names}/_search': {
    options: ['routing', 'preference', 'allow_partial_search_results'],
    run: (cluster, { names, query, body }) => searchIndices(cluster, names, query, json(body)),
  },
  'POST /_search': {
    options: ['allow_partial_search_results'],
    run: (cluster, { query, body }) => searchSnapshot(cluster, query, json(body)),
  },
  'POST /_msearch': { options: [], run: searchSeveral },
  'GET /{names}/_count': { options: [], run: countOf },
  'POST /{names}/_count': { options: [], run: countOf },
  'POST /{names}/_pit': {
    options: ['routing', 'preference', 'keep_alive'],
    run: (cluster, { names, query }) => {
      const asked = cluster.copiesOf(cluster.catalog.find(names), query)
      return { id: cluster.snapshots.open(asked, milliseconds(query['keep_alive'])), _shards: { failed: 0 } }
    },
  },
  'DELETE /_pit': {
    options: [],
    run: ({ snapshots }, { body }) => {
      const isOpen = snapshots.close(String(json(body)['id']))
      return new Reply(isOpen ? 200 : 404, { succeeded: isOpen, num_freed: isOpen ? 1 : 0 })
    },
  },
  'POST /{names}/_mget': {
    options: ['routing', 'preference', 'realtime'],
    run: (cluster, { names, query, body }) =>
      multiGet(json(body), { ...named(cluster, names), routing: query['routing'] }, reader(cluster, query)),
  },
  'GET /{names}/_source/{last}': {
    options: ['routing', 'preference', 'realtime'],
    run: (cluster, { names, last, query }) =>
      sourceOf({ ...named(cluster, names), routing: query['routing'] }, last, reader(cluster, query)),
  },
}

/** Answers a request to the cluster. */
export async function answerRequest(cluster: Cluster, request: HttpRequest): Promise<HttpAnswer> {
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
  const isNamed = !first.startsWith('_')
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

const json = (body: string): Json => (body === '' ? {} : (JSON.parse(body) as Json))

function only([name, ...others]: readonly string[]): string {
  if (name === undefined || others.length > 0) throw notSimulated('several names here')
  return name
}

const stateOf = ({ aliases, uuid, hasWriteBlock }: Index): object => ({
  aliases: Object.fromEntries(aliases),
  settings: { index: { uuid, ...(hasWriteBlock && { blocks: { write: 'true' } }) } },
})

function statsOf({ catalog, snapshots }: Cluster, { names, last }: Call): object {
  expectOnly(
    ['search', 'docs', 'store'],
    Object.fromEntries(last.split(',').flatMap((each) => (each === '' ? [] : [[each, 1]]))),
    'stats',
  )
  return indexStats(catalog.find(names), (index) => snapshots.countOf(index))
}

function countOf(cluster: Cluster, { names, body }: Call): object {
  return count(cluster.copiesOf(cluster.catalog.find(names), {}).map(targetOf), json(body))
}

function searchIndices(cluster: Cluster, names: readonly string[], query: Query, body: Json): string {
  const targets = cluster.copiesOf(cluster.catalog.find(names), query).map(targetOf)
  return search(targets, body, { allowPartial: allowsPartial(query) })
}

function searchSnapshot({ snapshots }: Cluster, query: Query, { pit, ...body }: Json): string {
  const { id, keep_alive: keepAlive } = pit as { readonly id: string; readonly keep_alive: string }
  const targets = snapshots.targets(id, milliseconds(keepAlive))
  if (targets === undefined) throw snapshotMissing()
  return search(targets, body, { pit: id, allowPartial: allowsPartial(query) })
}

/** The searches of an `_msearch` may find different refreshes. */
async function searchSeveral(cluster: Cluster, { body }: Call): Promise<string> {
  const lines = body.split('\n').slice(0, -1)
  const responses: string[] = []
  for (let at = 0; at < lines.length; at += 2) {
    if (at > 0) await cluster.pause('next search of a request')
    responses.push(attemptSearch(cluster, json(lines[at] ?? ''), json(lines[at + 1] ?? '')))
  }
  return `{"took":0,"responses":[${responses.join()}]}`
}

function attemptSearch(cluster: Cluster, { index, ...header }: Json, body: Json): string {
  try {
    expectOnly(['routing', 'preference', 'allow_partial_search_results'], header, 'the header of a search')
    const query = header as Query
    const answer =
      index === undefined ? searchSnapshot(cluster, query, body) : searchIndices(cluster, [String(index)], query, body)
    return `${answer.slice(0, -1)},"status":200}`
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return JSON.stringify(error.body)
  }
}

const allowsPartial = ({ allow_partial_search_results: allowed }: Query): boolean => String(allowed ?? true) === 'true'

const snapshotMissing = (): Refusal =>
  new Refusal(404, { type: 'search_phase_execution_exception', reason: 'all shards failed', phase: 'query' }, [
    contextMissing,
  ])

/** The index of a name, or why there is none. */
function named({ catalog }: Cluster, names: readonly string[]): { name: string; index: Index | Refusal } {
  const name = only(names)
  try {
    const [index, ...others] = catalog.find([name])
    if (index === undefined || others.length > 0) throw notSimulated('a get from several indices')
    return { name, index }
  } catch (error) {
    if (error instanceof Refusal) return { name, index: error }
    throw error
  }
}

/** Reads what is stored, or with `realtime=false` what a copy finds. */
function reader(cluster: Cluster, { realtime = 'true', preference }: Query): ReadDocument {
  const place = cluster.placeOf(preference)
  return (index, id, routing) => {
    const shard = index.shardOf(routing)
    const copy = shard.expectCopyAt(place)
    return realtime === 'false' ? copy.view.byId.get(id) : shard.stored(id)
  }
}

function milliseconds(text: string | undefined): number {
  const [, count, unit] = /^(\d+)(ms|s|m)$/.exec(text ?? '') ?? []
  const factor = { ms: 1, s: 1_000, m: 60_000 }[unit ?? '']
  if (factor === undefined) throw notSimulated(`a duration of ${text}`)
  return Number(count) * factor
}
