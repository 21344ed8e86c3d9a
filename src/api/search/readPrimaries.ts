import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { hasOlderMapping } from '../../core/elasticsearch/indices.ts'
import { parse } from './hits.ts'
import { ElasticsearchUnavailable, type SearchClient, type SearchRequest } from './searchClient.ts'

type Shard = NonNullable<SearchRequest['shard']>

/** The node that the primary of a shard is on; `isOnly`: the shard has no replica; `searched`: the index or alias to search. */
type FoundPrimary = { readonly node: string; readonly isOnly: boolean; readonly searched: string }

/** Shards that a process remembers. */
const maxKept = 10_000
const pauseMs = 25
/** How long a primary without replicas is cached: no other copy can replace it that fast. */
const onlyCopyMs = 1_000

const copySchema = z.object({
  primary: z.boolean(),
  index: z.string(),
  node: z.string().nullish(),
})
const shardsSchema = z.object({ shards: z.array(z.array(copySchema)).default([]) })

/**
 * Sends searches of a shard to its primary, and asks the master before each search where that is. A replica may still show writes that were
 * rolled back when another copy was promoted: an indexer wrote `a@7` to the primary and one replica, the primary was lost, and a replica without
 * `a@7` became primary. And a node that the master has given up, but that does not know it yet, would answer from its copy for ever.
 * `elapsedMs` is a monotonic clock.
 */
export function readPrimaries(client: SearchClient, elapsedMs: () => number) {
  const onlyCopies = new LRUCache<string, { readonly primary: FoundPrimary; readonly sinceMs: number }>({
    max: maxKept,
  })

  const primaryOf = async (shard: Shard, signal: AbortSignal): Promise<FoundPrimary | undefined> => {
    const [name, sinceMs] = [nameOf(shard), elapsedMs()]
    const known = onlyCopies.get(name)
    // Another index may serve by now.
    if (known !== undefined && sinceMs - known.sinceMs < onlyCopyMs) return { ...known.primary, searched: shard.alias }
    const primary = await findPrimary(client, shard, signal)
    if (primary?.isOnly === true) onlyCopies.set(name, { primary, sinceMs })
    else onlyCopies.delete(name)
    return primary
  }
  const send: SearchClient['send'] = async (request, signal) => {
    const { shard, querystring } = request
    if (shard === undefined) return await client.send(request, signal)
    for (;;) {
      const primary = await primaryOf(shard, signal)
      // Without an index or a primary, the error of Elasticsearch says what is missing.
      if (primary === undefined) return await client.send(request, signal)
      const preference = `_only_nodes:${primary.node}`
      // By its own name: a node that lags behind would take the alias for an index that does not serve any more.
      const path = request.path.replace(shard.alias, primary.searched)
      const answer = client.send({ ...request, path, querystring: { ...querystring, preference } }, signal)
      const found = await answer.catch(undefinedWithoutCopy)
      if (found?.isFound === true) return found
      onlyCopies.delete(nameOf(shard))
      await sleep(pauseMs, undefined, { signal }).catch(() => {
        throw new ElasticsearchUnavailable('deadline', 'the primary is moving')
      })
    }
  }
  return { ...client, send }
}

const nameOf = ({ alias, teamId }: Shard): string => `${alias} ${teamId}`

/** Ignores that the node has lost its copy, which the master does not know yet, or that the index was removed, or is not known to a node yet. */
function undefinedWithoutCopy(error: unknown): undefined {
  if (!(error instanceof ElasticsearchUnavailable) || !['no-copy', 'missing-index'].includes(error.reason)) throw error
}

/** The primary of a team's shard in the cluster state; undefined if there is none. */
async function findPrimary(client: SearchClient, { alias, teamId }: Shard, signal: AbortSignal) {
  const copies = await findCopies(client, alias, { routing: teamId }, signal)
  const primary = copies.find((copy) => copy.primary)
  return primary?.node ? { node: primary.node, isOnly: copies.length === 1, searched: primary.index } : undefined
}

/** The copies of the shards behind aliases. Throws for an index of an earlier release, which may lack fields that this one searches. */
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
