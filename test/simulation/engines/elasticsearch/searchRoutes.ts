import type { Index } from './catalog.ts'
import type { Cluster } from './cluster.ts'
import { multiGet, type ReadDocument, sourceOf } from './gets.ts'
import { notSimulated, Refusal } from './refusal.ts'
import { type Call, type Json, json, only, type Query, Reply, type Route } from './route.ts'
import { count, search } from './search.ts'
import { contextMissing, targetOf } from './snapshots.ts'

/** Requests that read documents. */
export const searchRoutes: Readonly<Record<string, Route>> = {
  'POST /{names}/_search': {
    options: ['routing', 'preference', 'allow_partial_search_results'],
    run: (cluster, { names, query, body }) => searchIndices(cluster, names, query, json(body)),
  },
  'POST /_search': {
    options: ['allow_partial_search_results'],
    run: (cluster, { query, body }) => searchSnapshot(cluster, query, json(body)),
  },
  'GET /{names}/_search_shards': {
    options: ['routing', 'master_timeout'],
    run: (cluster, { names, query }) => cluster.searchShards(cluster.catalog.find(names), query['routing']),
  },
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
