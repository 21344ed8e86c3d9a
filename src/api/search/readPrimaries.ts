import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { hasOlderMapping } from '../../core/elasticsearch/indices.ts'
import { parse } from './hits.ts'
import { ElasticsearchUnavailable, type SearchClient, type SearchRequest } from './searchClient.ts'

type Shard = NonNullable<SearchRequest['shard']>

/** `isOnly`: the shard has no replica. `searched`: an index or alias. */
type FoundPrimary = { readonly node: string; readonly isOnly: boolean; readonly searched: string }

const maxCached = 10_000
/** Before the primary is requested again. */
const pauseMs = 25
/** Of a primary without replicas: no other copy can be promoted. */
const cacheLifeMs = 1_000

const copySchema = z.object({
  primary: z.boolean(),
  index: z.string(),
  node: z.string().nullish(),
})
const shardsSchema = z.object({ shards: z.array(z.array(copySchema)).default([]) })

/**
 * Sends each search of a shard to its primary, whose node the master names before each search; without replicas, at most once a second. Replicas may
 * show writes that a promotion rolls back:
 *
 * 1. An indexer writes `a@7` (revision 7 of `a`) to the primary and replica 1. A client reads `a@7` from replica 1.
 * 2. The primary is lost. Replica 2, without `a@7`, is promoted.
 * 3. Replica 1 drops `a@7`. The client gets an older state.
 *
 * Also, a node that has not noticed its removal would answer from its outdated copy for ever. `elapsedMs`: a monotonic clock.
 */
export function readPrimaries(client: SearchClient, elapsedMs: () => number): SearchClient {
  const onlyCopies = new LRUCache<string, { readonly primary: FoundPrimary; readonly requestedMs: number }>({
    max: maxCached,
  })

  const primaryOf = async (shard: Shard, signal: AbortSignal): Promise<FoundPrimary | undefined> => {
    const name = nameOf(shard)
    const nowMs = elapsedMs()
    const cached = onlyCopies.get(name)
    // The alias, which may point to another index by now.
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
    for (;;) {
      const primary = await primaryOf(shard, signal)
      // Elasticsearch answers with 404, or with its own error.
      if (primary === undefined) return await client.send(request, signal)
      const preference = `_only_nodes:${primary.node}`
      // Of a primary just requested, the index: a node with an outdated cluster state may resolve the alias to a former one.
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

/** If the node has lost its copy or index, the primary is requested again. */
function ignoreMovedPrimary(error: unknown): undefined {
  if (!(error instanceof ElasticsearchUnavailable) || !['no-copy', 'missing-index'].includes(error.reason)) throw error
}

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
 * Primaries and replicas of all shards; with `{ routing }`, of one. Empty if an index does not exist. Throws for an index of an earlier release,
 * which may lack fields that this release searches.
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
