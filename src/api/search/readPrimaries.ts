import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { List } from '../../core/model/ids.ts'
import type { Instant } from '../../core/model/instant.ts'
import { ElasticsearchUnavailable, type SearchClient, type SearchRequest } from './searchClient.ts'

type Shard = NonNullable<SearchRequest['shard']>

/** Whether no write to a list is under way, and the watermark. */
type ReadFreshness = (list: List) => Promise<{ readonly isSettled: boolean; readonly watermark: Instant | null }>

/** `id` changes each time that a copy is made; `node` holds it; `index` is the one behind the alias; `isOnly`: its shard has no other copy. */
type Primary = { readonly node: string; readonly id: string; readonly index: string; readonly isOnly: boolean }
/** The copy from which a list was read, and the one that has taken its place. */
type ReadFrom = {
  readonly id: string
  readonly index: string
  readonly next?: { readonly id: string; readonly sinceMs: number }
}

const maxLists = 10_000
const pauseMs = 25
/** How long the only copy of a shard stays known: another one is not made, and takes its place, so soon. */
const onlyCopyMs = 1_000
/** How far the clocks of this machine, Redis and the brokers may be from one another. */
const allowedSkewMs = 1_000
/** A list whose writes nobody settles for so long is read from the new primary all the same. */
const maxFenceMs = 30_000

const copySchema = z.object({
  primary: z.boolean(),
  index: z.string(),
  node: z.string().nullish(),
  allocation_id: z.object({ id: z.string() }).nullish(),
})
const shardsSchema = z.object({ shards: z.array(z.array(copySchema)).default([]) })

/**
 * Reads each team from the primary of its shard. Copies are refreshed one after the other, and nodes do not agree on which copy a
 * `preference` means: who reads now one and now another sees an older row after a newer one. A primary that takes the place of a lost one
 * may show less than that has shown. So a list that was read from the lost one is read again once no write to it is under way, or a
 * watermark promises all that was written until then. `elapsedMs` never steps.
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
    // Another index serves only once it shows all that the one before has shown: the rebuild sees to that.
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
      // Without an index or a primary, Elasticsearch says what is missing.
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

/** The node may have lost the copy, which the master learns last. */
function undefinedWithoutCopy(error: unknown): undefined {
  if (!(error instanceof ElasticsearchUnavailable) || error.reason !== 'no-copy') throw error
}

/** The primary of a team's shard as the master knows it; undefined if there is none. */
async function findPrimary(
  client: SearchClient,
  { alias, teamId }: Shard,
  signal: AbortSignal,
): Promise<Primary | undefined> {
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
