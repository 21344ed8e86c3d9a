import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { hasOlderMapping } from '../../core/elasticsearch/indices.ts'
import { parse } from './hits.ts'
import { ElasticsearchUnavailable, type SearchClient, type SearchRequest } from './searchClient.ts'

type Shard = NonNullable<SearchRequest['shard']>

/** `isOnly`: the shard has no replica. `searched`: the index or alias to search on this node. */
type FoundPrimary = { readonly node: string; readonly isOnly: boolean; readonly searched: string }

const maxCached = 10_000
/** Before the primary is requested again. */
const pauseMs = 25
/** How long a primary without replicas is cached: no other copy can be promoted in its place. */
const cacheLifeMs = 1_000

const copySchema = z.object({
  primary: z.boolean(),
  index: z.string(),
  node: z.string().nullish(),
})
const shardsSchema = z.object({ shards: z.array(z.array(copySchema)).default([]) })

/**
 * Makes a client that sends each search of a shard to the shard's primary. Before each search, it requests from the master which node has the primary;
 * for a shard without replicas, at most once a second. It searches no replicas, because these may show writes that a promotion rolls back:
 *
 * 1. An indexer writes `a@7` (revision 7 of `a`) to the primary and replica 1. A client reads `a@7` from replica 1.
 * 2. The primary is lost. Replica 2, without `a@7`, is promoted.
 * 3. Replica 1 drops `a@7`. The client, which has seen `a@7`, gets an older state.
 *
 * Also, a node that has not noticed its removal by the master would answer from its outdated copy for ever. `elapsedMs`: a monotonic clock.
 */
export function readPrimaries(client: SearchClient, elapsedMs: () => number): SearchClient {
  /** Primaries without replicas. */
  const onlyCopies = new LRUCache<string, { readonly primary: FoundPrimary; readonly requestedMs: number }>({
    max: maxCached,
  })

  const primaryOf = async (shard: Shard, signal: AbortSignal): Promise<FoundPrimary | undefined> => {
    const name = nameOf(shard)
    const nowMs = elapsedMs()
    const cached = onlyCopies.get(name)
    // From the cache: only the node. The alias is searched, because it may point to another index by now.
    if (cached !== undefined && nowMs - cached.requestedMs < cacheLifeMs)
      return { ...cached.primary, searched: shard.alias }
    const primary = await findPrimary(client, shard, signal)
    if (primary?.isOnly === true) onlyCopies.set(name, { primary, requestedMs: nowMs })
    else onlyCopies.delete(name)
    return primary
  }
  const send: SearchClient['send'] = async (request, signal) => {
    const { shard, querystring } = request
    if (shard === undefined) return await client.send(request, signal)
    // Until an answer, another failure than `ignoreMovedPrimary` ignores, or the deadline.
    for (;;) {
      const primary = await primaryOf(shard, signal)
      // Elasticsearch answers 404 for a missing index, and its own error for a shard without a primary.
      if (primary === undefined) return await client.send(request, signal)
      const preference = `_only_nodes:${primary.node}`
      // Of a primary that was just requested, the index is searched: a node with an outdated cluster state may resolve the alias to a former index.
      const path = request.path.replace(shard.alias, primary.searched)
      const sent = client.send({ ...request, path, querystring: { ...querystring, preference } }, signal)
      const answer = await sent.catch(ignoreMovedPrimary)
      if (answer?.isFound === true) return answer
      onlyCopies.delete(nameOf(shard))
      await sleep(pauseMs, undefined, { signal }).catch(() => {
        throw new ElasticsearchUnavailable('deadline', 'the primary is moving')
      })
    }
  }
  return { ...client, send }
}

const nameOf = ({ alias, teamId }: Shard): string => `${alias} ${teamId}`

/** Returns undefined if the node has lost its copy, or has no such index: then the primary is requested again. Throws every other error. */
function ignoreMovedPrimary(error: unknown): undefined {
  if (!(error instanceof ElasticsearchUnavailable) || !['no-copy', 'missing-index'].includes(error.reason)) throw error
}

/** Undefined if the index does not exist, or its shard has no primary on any node. */
async function findPrimary(
  client: SearchClient,
  { alias, teamId }: Shard,
  signal: AbortSignal,
): Promise<FoundPrimary | undefined> {
  const copies = await findCopies(client, alias, { routing: teamId }, signal)
  const primary = copies.find((copy) => copy.primary)
  return primary?.node ? { node: primary.node, isOnly: copies.length === 1, searched: primary.index } : undefined
}

/**
 * Requests the copies (primaries and replicas) of all shards of the indices; with `routing: { routing }`, of the one shard of this routing value. Empty
 * if an index does not exist. Throws for an index of an earlier release, which may lack fields that this release searches.
 */
export async function findCopies(client: SearchClient, aliases: string, routing: object, signal: AbortSignal) {
  const { indexPrefix, hasAnswers, send } = client
  const filter_path = 'shards.primary,shards.index,shards.node'
  const querystring = { ...routing, filter_path, master_timeout: '1s' }
  const { isFound, bytes } = await send({ method: 'GET', path: `/${aliases}/_search_shards`, querystring }, signal)
  if (!isFound) return []
  const { success, data } = shardsSchema.safeParse(parse(bytes.toString()))
  if (!success) throw new ElasticsearchUnavailable('partial', 'the shards are not named')
  const copies = data.shards.flat()
  const older = copies.find(({ index }) => hasOlderMapping(indexPrefix, index, hasAnswers))
  if (older === undefined) return copies
  throw new ElasticsearchUnavailable(
    'older-mapping',
    `${older.index} is of an earlier release, or lacks the answers of INDEX_ANSWERS: \`npm run rebuild\``,
  )
}
