import type { Index } from './catalog.ts'
import { multiGet, type ReadDocument } from './gets.ts'
import { attempt, noShardAvailable, notSimulated, Refusal } from './refusal.ts'
import { type Call, type Json, json, only, Reply, type Route } from './route.ts'
import { count, search } from './search.ts'
import type { SimulatedElasticsearch } from './simulatedElasticsearch.ts'
import { contextMissing, targetOf } from './snapshots.ts'

/** Routes that read documents. */
export const searchRoutes: Readonly<Record<string, Route>> = {
  'POST /{names}/_search': {
    options: ['routing', 'preference', 'allow_partial_search_results'],
    run: (cluster, { names, query, body }) =>
      search(cluster.copiesOf(cluster.catalog.find(names), query).map(targetOf), json(body), allowsPartial(query)),
  },
  'POST /_search': {
    options: ['allow_partial_search_results'],
    run: (cluster, { query, body }) => searchSnapshot(cluster, json(body), allowsPartial(query)),
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
      const copies = cluster.copiesOf(cluster.catalog.find(names), query)
      return { id: cluster.snapshots.open(copies, milliseconds(query['keep_alive'])), _shards: { failed: 0 } }
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
    options: [],
    run: (cluster, { names, body }) => {
      const name = only(names)
      const index = attempt(() => onlyIndex(cluster, name))
      return multiGet(json(body), name, index, reader(cluster))
    },
  },
}

function countOf(cluster: SimulatedElasticsearch, { names, body }: Call): object {
  return count(cluster.copiesOf(cluster.catalog.find(names), {}).map(targetOf), json(body))
}

const allowsPartial = (query: Call['query']): boolean => query['allow_partial_search_results'] !== 'false'

function searchSnapshot({ snapshots }: SimulatedElasticsearch, { pit, ...body }: Json, allows: boolean): string {
  const { id, keep_alive: keepAlive } = pit as { readonly id: string; readonly keep_alive: string }
  const targets = snapshots.targets(id, milliseconds(keepAlive), allows)
  if (targets === undefined) throw snapshotMissing()
  return search(targets, body, allows, id)
}

const snapshotMissing = (): Refusal =>
  new Refusal(404, { type: 'search_phase_execution_exception', reason: 'all shards failed', phase: 'query' }, [
    contextMissing,
  ])

function onlyIndex({ catalog }: SimulatedElasticsearch, name: string): Index {
  const [index, ...others] = catalog.find([name])
  if (index === undefined || others.length > 0) throw notSimulated('a get from several indices')
  return index
}

/** Reads documents in real time from a reachable copy. */
function reader(cluster: SimulatedElasticsearch): ReadDocument {
  const place = cluster.placeOf(undefined)
  return (index, id, routing) => {
    const shard = index.shardOf(routing)
    if (shard.copyAt(place) === undefined) throw new Refusal(503, noShardAvailable)
    return shard.stored(id)
  }
}

function milliseconds(text: string | undefined): number {
  const [, count, unit] = /^(\d+)(ms|s|m)$/.exec(text ?? '') ?? []
  const factor = { ms: 1, s: 1_000, m: 60_000 }[unit ?? '']
  if (factor === undefined) throw notSimulated(`a duration of ${text}`)
  return Number(count) * factor
}
