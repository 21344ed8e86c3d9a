import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { List } from '../../core/model/ids.ts'
import type { Instant } from '../../core/model/instant.ts'
import { ElasticsearchUnavailable, type SearchClient, type SearchRequest } from './searchClient.ts'

type Shard = NonNullable<SearchRequest['shard']>

/** Whether no write to a list is pending, and the watermark. */
type ReadFreshness = (list: List) => Promise<{ readonly isSettled: boolean; readonly watermark: Instant | null }>

/** A primary: `id` is its allocation id, new for each copy; `index` the one behind the alias; `isOnly`: the shard has no replica. */
type Primary = { readonly node: string; readonly id: string; readonly index: string; readonly isOnly: boolean }
/** The primary from which a list was last read, and since when another one has replaced it. */
type ReadFrom = {
  readonly id: string
  readonly index: string
  readonly next?: { readonly id: string; readonly sinceMs: number }
}

const maxLists = 10_000
const pauseMs = 25
/** How long a primary without replicas is cached: no other copy can replace it that fast. */
const onlyCopyMs = 1_000
/** The maximum clock skew between this machine, Redis and the brokers. */
const allowedSkewMs = 1_000
/** After this long, a list is read from the new primary even if its writes are still pending. */
const maxFenceMs = 30_000

const copySchema = z.object({
  primary: z.boolean(),
  index: z.string(),
  node: z.string().nullish(),
  allocation_id: z.object({ id: z.string() }).nullish(),
})
const shardsSchema = z.object({ shards: z.array(z.array(copySchema)).default([]) })

/**
 * Sends searches of a shard to its primary, so that reads are monotonic: copies refresh at different times, and nodes disagree about the
 * copy that a `preference` selects. A promoted primary may show less than the lost one did. So a list that was read from the lost one
 * waits until no write to it is pending, or the watermark covers the time of the promotion.
 * `nowMs` is the wall clock (epoch ms), `elapsedMs` a monotonic clock.
 */
export function readPrimaries(
  client: SearchClient,
  readFreshness: ReadFreshness,
  nowMs: () => number,
  elapsedMs: () => number,
): SearchClient {
  const readFrom = new LRUCache<string, ReadFrom>({ max: maxLists })
  const onlyCopies = new LRUCache<string, { readonly primary: Primary; readonly sinceMs: number }>({ max: maxLists })

  const showsAll = async (list: List, sinceMs: number): Promise<boolean> => {
    const { isSettled, watermark } = await readFreshness(list)
    return isSettled || (watermark !== null && Date.parse(watermark) > sinceMs + allowedSkewMs)
  }
  const primaryOf = async (shard: Shard, signal: AbortSignal): Promise<Primary | undefined> => {
    const [name, sinceMs] = [nameOf(shard), elapsedMs()]
    const known = onlyCopies.get(name)
    if (known !== undefined && sinceMs - known.sinceMs < onlyCopyMs) return known.primary
    const primary = await findPrimary(client, shard, signal)
    if (primary?.isOnly === true) onlyCopies.set(name, { primary, sinceMs })
    else onlyCopies.delete(name)
    return primary
  }
  const mayRead = async (shard: Shard, { id, index }: Primary): Promise<boolean> => {
    const name = nameOf(shard)
    const before = readFrom.get(name)
    if (before?.id === id) return true
    // Another index needs no wait: a rebuild switches only to indices that show all that the former ones did.
    if (before?.index === index) {
      const next = before.next?.id === id ? before.next : { id, sinceMs: nowMs() }
      readFrom.set(name, { ...before, next })
      if (!(await showsAll(shard, next.sinceMs)) && nowMs() - next.sinceMs < maxFenceMs) return false
    }
    readFrom.set(name, { id, index })
    return true
  }
  const send: SearchClient['send'] = async (request, signal) => {
    const { shard, querystring } = request
    if (shard === undefined) return await client.send(request, signal)
    for (;;) {
      const primary = await primaryOf(shard, signal)
      // Without an index or a primary, the error of Elasticsearch says what is missing.
      if (primary === undefined) return await client.send(request, signal)
      if (await mayRead(shard, primary)) {
        const preference = `_only_nodes:${primary.node}`
        const answer = client.send({ ...request, querystring: { ...querystring, preference } }, signal)
        const found = await answer.catch(undefinedWithoutCopy)
        if (found !== undefined) return found
        onlyCopies.delete(nameOf(shard))
      }
      await sleep(pauseMs, undefined, { signal }).catch(() => {
        throw new ElasticsearchUnavailable('deadline', 'the primary is moving')
      })
    }
  }
  return { ...client, send }
}

const nameOf = ({ alias, teamId }: Shard): string => `${alias} ${teamId}`

/** Ignores `no-copy`: the node has lost its copy, and the master does not know yet. */
function undefinedWithoutCopy(error: unknown): undefined {
  if (!(error instanceof ElasticsearchUnavailable) || error.reason !== 'no-copy') throw error
}

/** The primary of a team's shard in the cluster state; undefined if there is none. */
async function findPrimary(client: SearchClient, { alias, teamId }: Shard, signal: AbortSignal) {
  const querystring = {
    routing: teamId,
    filter_path: 'shards.primary,shards.index,shards.node,shards.allocation_id.id',
    master_timeout: '1s',
  }
  const { isFound, bytes } = await client.send({ method: 'GET', path: `/${alias}/_search_shards`, querystring }, signal)
  if (!isFound) return undefined
  const { success, data } = shardsSchema.safeParse(JSON.parse(bytes.toString()))
  if (!success) throw new ElasticsearchUnavailable('partial', 'the shards are not named')
  const copies = data.shards.flat()
  const { node, allocation_id: allocation, index = '' } = copies.find(({ primary }) => primary) ?? {}
  return node && allocation ? { node, id: allocation.id, index, isOnly: copies.length === 1 } : undefined
}
