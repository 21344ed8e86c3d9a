import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { TeamId } from '../../core/model/ids.ts'
import type { Instant } from '../../core/model/instant.ts'
import type { EntityType } from '../../core/model/teamList.ts'
import { ElasticsearchUnavailable, type SearchClient, type SearchRequest, type SearchResponse } from './searchClient.ts'

/** How fresh a team's list is: whether no write to it is under way, and the watermark. */
export type ReadFreshness = (
  type: EntityType,
  teamId: TeamId,
) => Promise<{ readonly isSettled: boolean; readonly watermark: Instant | null }>

/** The shard of a team in an index. */
type Place = { readonly index: string; readonly teamId: TeamId }
/** `id` is another one each time that a copy is made, `node` that of the node that holds it, `index` the one behind an alias. */
type Primary = { readonly node: string; readonly id: string; readonly index: string }
/** The copy from which a list was read, and the one that has taken its place. */
type ReadFrom = {
  readonly id: string
  readonly index: string
  readonly next?: { readonly id: string; readonly sinceMs: number }
}

const maxPlaces = 10_000
const pauseMs = 25
const masterTimeout = '1s'
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
 * A client that reads each team from the primary of its shard. Copies are refreshed one after the other, and nodes do not agree on which
 * copy a `preference` means: who reads now one and now another sees an older row after a newer one. A primary stays the primary while
 * other copies come and go. Another one takes its place when its node is lost, and may show less than the lost one has shown. A list
 * that was read from that is read again once no write to it is under way, or a watermark promises all that was written until then.
 */
export function readPrimaries(client: SearchClient, readFreshness: ReadFreshness, nowMs: () => number): SearchClient {
  const readFrom = new LRUCache<string, ReadFrom>({ max: maxPlaces })

  const showsAll = async ({ index, teamId }: Place, sinceMs: number): Promise<boolean> => {
    const { isSettled, watermark } = await readFreshness(typeIn(index), teamId)
    return isSettled || (watermark !== null && Date.parse(watermark) > sinceMs + allowedSkewMs)
  }
  const mayRead = async (place: Place, { id, index }: Primary): Promise<boolean> => {
    const name = `${place.index} ${place.teamId}`
    const before = readFrom.get(name)
    if (before?.id === id) return true
    // Another index serves only once it shows all that the one before has shown: the rebuild sees to that.
    if (before?.index === index) {
      const next = before.next?.id === id ? before.next : { id, sinceMs: nowMs() }
      readFrom.set(name, { ...before, next })
      if (!(await showsAll(place, next.sinceMs)) && nowMs() - next.sinceMs < maxFenceMs) return false
    }
    readFrom.set(name, { id, index })
    return true
  }
  const send: SearchClient['send'] = async (request, signal) => {
    const place = placeOf(request)
    if (place === undefined) return await client.send(request, signal)
    for (;;) {
      const primary = await findPrimary(client, place, signal)
      // Without an index or a primary, Elasticsearch says what is missing.
      if (primary === undefined) return await client.send(request, signal)
      if (await mayRead(place, primary)) {
        const answer = await sendTo(client, primary.node, request, signal)
        if (answer !== undefined) return answer
      }
      await sleep(pauseMs, undefined, { signal }).catch(() => {
        throw new ElasticsearchUnavailable('deadline', 'the primary is moving')
      })
    }
  }
  return { ...client, send }
}

/** The primary of a team's shard as the master knows it; undefined if there is none. */
async function findPrimary(client: SearchClient, place: Place, signal: AbortSignal): Promise<Primary | undefined> {
  const { isFound, bytes } = await client.send(
    {
      method: 'GET',
      path: `/${place.index}/_search_shards`,
      querystring: {
        routing: place.teamId,
        filter_path: 'shards.primary,shards.index,shards.node,shards.allocation_id.id',
        master_timeout: masterTimeout,
      },
    },
    signal,
  )
  if (!isFound) return undefined
  const { success, data } = shardsSchema.safeParse(JSON.parse(bytes.toString()))
  if (!success) throw new ElasticsearchUnavailable('partial', 'the shards are not named')
  const { node, allocation_id: allocation, index = '' } = data.shards.flat().find(({ primary }) => primary) ?? {}
  return node && allocation ? { node, id: allocation.id, index } : undefined
}

/** What a request asks of a team's shard, if it does. */
function placeOf({ path, querystring }: SearchRequest): Place | undefined {
  const { routing } = querystring
  return routing === undefined ? undefined : { index: path.split('/')[1] ?? '', teamId: String(routing) as TeamId }
}

const typeIn = (index: string): EntityType => (/-forms?(-details)?$/.test(index) ? 'forms' : 'submissions')

/** Sends a request to the copy on a node; undefined if it is not there any more, which the master learns last. */
async function sendTo(
  client: SearchClient,
  node: string,
  request: SearchRequest,
  signal: AbortSignal,
): Promise<SearchResponse | undefined> {
  const querystring = { ...request.querystring, preference: `_only_nodes:${node}` }
  try {
    return await client.send({ ...request, querystring }, signal)
  } catch (error) {
    if (error instanceof ElasticsearchUnavailable && error.reason === 'no-copy') return undefined
    throw error
  }
}
