import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { List, TeamId } from '../../core/model/ids.ts'
import { hasOlderMapping } from '../../core/stores/indices.ts'
import type { Freshness } from '../../core/stores/listVersions.ts'
import type { Primary, PrimaryRead } from '../../core/stores/primaryReads.ts'
import { parse } from './hits.ts'
import { ElasticsearchUnavailable, type SearchClient, type SearchRequest } from './searchClient.ts'

type Shard = NonNullable<SearchRequest['shard']>

/** What the processes of the API know together. */
type ReadState = {
  freshness(teamId: TeamId): Promise<Pick<Freshness, 'settled' | 'watermark'>>
  /** Records which primary is read from now on, and tells since when (`primaryReads.ts`). */
  recordPrimary(primary: Primary, before: PrimaryRead | undefined, nowMs: number): Promise<PrimaryRead>
}

/** A primary, and the node that it is on; `isOnly`: the shard has no replica; `searched`: the index or alias to search. */
type FoundPrimary = Primary & { readonly node: string; readonly isOnly: boolean; readonly searched: string }

/** Shards and lists that a process remembers. */
const maxKept = 10_000
const pauseMs = 25
/** How long a primary without replicas is cached: no other copy can replace it that fast. */
const onlyCopyMs = 1_000
/** The maximum clock skew between the machines of the API, Redis and the brokers. */
const allowedSkewMs = 1_000
/** After this long, a list is read from the new primary even if its writes are still pending. */
const maxFenceMs = 30_000

const copySchema = z.object({
  primary: z.boolean(),
  index: z.string(),
  shard: z.int(),
  node: z.string().nullish(),
  allocation_id: z.object({ id: z.string() }).nullish(),
})
const shardsSchema = z.object({ shards: z.array(z.array(copySchema)).default([]) })

/**
 * Sends searches of a shard to its primary, so that reads are monotonic: copies refresh at different times, and nodes disagree about the
 * copy that a `preference` selects. A promoted primary may show less than the lost one did. So once any process has read the lost one,
 * each list of the shard waits until no write to it is pending, or the watermark covers the time of the promotion.
 * `nowMs` is the wall clock (epoch ms), `elapsedMs` a monotonic clock.
 */
export function readPrimaries(client: SearchClient, state: ReadState, nowMs: () => number, elapsedMs: () => number) {
  const recorded = new LRUCache<string, PrimaryRead>({ max: maxKept })
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
  const mayRead = async ({ type, teamId }: List, primary: Primary): Promise<boolean> => {
    const name = `${primary.index} ${primary.shard}`
    const before = recorded.get(name)
    const read = before?.id === primary.id ? before : await state.recordPrimary(primary, before, nowMs())
    recorded.set(name, read)
    if (nowMs() - read.sinceMs >= maxFenceMs) return true
    const { settled, watermark } = await state.freshness(teamId)
    return settled[type] || (watermark !== null && Date.parse(watermark) > read.sinceMs + allowedSkewMs)
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
        // By its own name: a node that lags behind would take the alias for an index that does not serve any more.
        const path = request.path.replace(shard.alias, primary.searched)
        const answer = client.send({ ...request, path, querystring: { ...querystring, preference } }, signal)
        const found = await answer.catch(undefinedWithoutCopy)
        if (found?.isFound === true) return found
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

/** Ignores that the node has lost its copy, which the master does not know yet, or that the index was removed, or is not known to a node yet. */
function undefinedWithoutCopy(error: unknown): undefined {
  if (!(error instanceof ElasticsearchUnavailable) || !['no-copy', 'missing-index'].includes(error.reason)) throw error
}

/** The primary of a team's shard in the cluster state; undefined if there is none. */
async function findPrimary(client: SearchClient, { alias, teamId }: Shard, signal: AbortSignal) {
  const copies = await findCopies(client, alias, { routing: teamId }, signal)
  const primary = copies.find((copy) => copy.primary)
  if (!primary?.node || !primary.allocation_id) return undefined
  const { index, shard, node, allocation_id } = primary
  return { index, shard, node, id: allocation_id.id, isOnly: copies.length === 1, searched: index }
}

/** The copies of the shards behind aliases. Throws for an index of an earlier release, which may lack fields that this one searches. */
export async function findCopies(client: SearchClient, aliases: string, routing: object, signal: AbortSignal) {
  const { indexPrefix, hasAnswers, send } = client
  const filter_path = 'shards.primary,shards.index,shards.shard,shards.node,shards.allocation_id.id'
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
