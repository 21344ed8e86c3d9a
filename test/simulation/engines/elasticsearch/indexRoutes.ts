import type { Index } from './catalog.ts'
import { expectOnly, notSimulated } from './refusal.ts'
import { type Call, json, only, Reply, type Route } from './route.ts'
import { isReachable, type Shard } from './shard.ts'
import type { SimulatedElasticsearch } from './simulatedElasticsearch.ts'

const acknowledged = { acknowledged: true }
/** Timeouts for the master, nodes and shards, which are ignored because all of them answer at once. */
const waits = ['master_timeout', 'timeout']

/** Routes for indices, the cluster, and writes. */
export const indexRoutes: Readonly<Record<string, Route>> = {
  'GET /{names}': {
    options: ['features', 'expand_wildcards'],
    run: ({ catalog }, { names }) =>
      Object.fromEntries(catalog.find(names).map((index) => [index.name, stateOf(index)])),
  },
  'PUT /{names}': {
    options: waits,
    run: ({ catalog }, { names, body }) => {
      const name = only(names)
      catalog.create(name, json(body))
      return { ...acknowledged, shards_acknowledged: true, index: name }
    },
  },
  'DELETE /{names}': {
    options: ['ignore_unavailable', ...waits],
    run: ({ catalog }, { names, query }) => {
      catalog.delete(catalog.find(names, query['ignore_unavailable'] === 'true'))
      return acknowledged
    },
  },
  'PUT /{names}/_mapping': {
    options: waits,
    run: ({ catalog }, { names, body }) => {
      const { _meta: meta, ...others } = json(body)
      expectOnly([], others, 'a change of a mapping')
      for (const index of catalog.find(names)) index.meta = meta
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
    options: waits,
    run: ({ catalog }, { body }) => {
      const { actions, ...others } = json(body)
      expectOnly([], others, 'the aliases')
      return catalog.updateAliases(actions as Parameters<typeof catalog.updateAliases>[0])
    },
  },
  'PUT /{names}/_block/{last}': {
    options: waits,
    run: ({ catalog }, { names, last }) => {
      if (last !== 'write') throw notSimulated(`the block ${last}`)
      const indices = catalog.find(names).filter(({ hasWriteBlock }) => !hasWriteBlock)
      // Bulk requests in progress check the block for each document, so there is nothing to wait for.
      for (const index of indices) index.hasWriteBlock = true
      const blocked = indices.map(({ name }) => ({ name, blocked: true }))
      return { ...acknowledged, shards_acknowledged: blocked.length > 0, indices: blocked }
    },
  },
  'DELETE /{names}/_block/{last}': {
    options: waits,
    run: ({ catalog }, { names, last }) => {
      if (last !== 'write') throw notSimulated(`the block ${last}`)
      const indices = catalog.find(names)
      for (const index of indices) index.hasWriteBlock = false
      return { ...acknowledged, indices: indices.map(({ name }) => ({ name, unblocked: true })) }
    },
  },
  'GET /{names}/_refresh': {
    options: [],
    run: async (cluster, { names }) => ({ _shards: await cluster.refresh(cluster.catalog.find(names)) }),
  },
  'GET /{names}/_stats': { options: ['level'], run: statsOf },
  'GET /{names}/_stats/{last}': { options: ['level'], run: statsOf },
  'GET /_cluster/health/{last}': {
    options: waits,
    run: (cluster, { last }) => {
      const matching = cluster.catalog.find(last.split(','), true)
      const isMissing = last.split(',').some((name) => cluster.catalog.find([name], true).length === 0)
      // Elasticsearch waits for what is missing.
      return isMissing
        ? new Reply(408, { ...cluster.health(matching), status: 'red', timed_out: true })
        : cluster.health(matching)
    },
  },
  'POST /_bulk': {
    options: ['require_alias', 'timeout'],
    run: async (cluster, { query, body }) => {
      if (query['require_alias'] !== 'true') throw notSimulated('a bulk request without require_alias')
      return await cluster.write(body, secondsIn(query['timeout']))
    },
  },
}

/** The milliseconds of such a time as `2s`; undefined without one. */
function secondsIn(time: string | undefined): number | undefined {
  if (time === undefined) return undefined
  const [, seconds] = /^(\d+)s$/.exec(time) ?? []
  if (seconds === undefined) throw notSimulated(`the time ${time}`)
  return 1_000 * Number(seconds)
}

const stateOf = ({ aliases, uuid, createdAtMs, shards, hasWriteBlock, meta }: Index): object => {
  const index = { uuid, creation_date: String(createdAtMs), number_of_shards: String(shards.length) }
  return {
    aliases: Object.fromEntries(aliases),
    ...(meta !== undefined && { mappings: { _meta: meta } }),
    settings: { index: hasWriteBlock ? { ...index, blocks: { write: 'true' } } : index },
  }
}

function statsOf({ catalog, snapshots }: SimulatedElasticsearch, { names, last }: Call): object {
  expectOnly(
    ['search', 'docs', 'store'],
    Object.fromEntries(last.split(',').flatMap((name) => (name === '' ? [] : [[name, 1]]))),
    'stats',
  )
  const rows = catalog.find(names).map((index) => ({ index, open: snapshots.countOf(index) }))
  const open = rows.reduce((sum, row) => sum + row.open, 0)
  const indices = Object.fromEntries(rows.map((row) => [row.index.name, statsOfIndex(row.index, row.open)]))
  const copies = rows.flatMap(({ index }) => index.shards.flatMap((shard) => shard.copies))
  const failed = copies.filter(({ isActive, node }) => isActive && !node.isReachable)
  return { _shards: { failed: failed.length }, _all: { total: { search: { open_contexts: open } } }, indices }
}

/** The `_stats` of an index: searchable documents and bytes, open contexts, sequence numbers. */
function statsOfIndex({ uuid, shards }: Index, open: number): object {
  const views = shards.map(({ primary }) => primary.view)
  const sum = (sizes: readonly number[]): number => sizes.reduce((all, size) => all + size, 0)
  const bytes = views.map(({ byId }) => sum([...byId.values()].map(({ source }) => source.length)))
  return {
    uuid,
    primaries: { docs: { count: sum(views.map(({ byId }) => byId.size)) }, store: { size_in_bytes: sum(bytes) } },
    total: { store: { size_in_bytes: sum(bytes) }, search: { open_contexts: open } },
    shards: Object.fromEntries(
      shards.flatMap((shard) => {
        const copies = copiesOf(shard)
        return copies.length === 0 ? [] : [[shard.number, copies]]
      }),
    ),
  }
}

/** The copies of a shard that answer. */
const copiesOf = ({ copies, primary, lastSeqNo }: Shard): readonly object[] =>
  copies.filter(isReachable).map((copy) => ({
    routing: { state: 'STARTED', primary: copy === primary },
    seq_no: { max_seq_no: lastSeqNo, local_checkpoint: lastSeqNo, global_checkpoint: lastSeqNo },
  }))
