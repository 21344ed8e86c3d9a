import type { Client } from '@elastic/elasticsearch'
import type { RequestOptions } from './generations/generations.ts'

/** How many copies of shards, primaries included, a refresh was for, and how many took part or failed. */
export type RefreshCounts = { readonly total: number; readonly successful: number; readonly failed: number }

/** The health of the refreshed indices according to the master, after the refresh. */
export type HealthAfterRefresh = { readonly status: string; readonly active_shards: number }

/**
 * Why a refresh that missed some copies does not count; undefined when it does. A copy that the refresh could not reach is neither
 * successful nor failed. It may be unassigned, which is harmless, or still be active and answer searches, until the master has noticed
 * that its node is away. So as many copies must have taken part as are active now, and no primary may be missing. A copy that becomes
 * active later was refreshed at the end of its recovery.
 */
export function missedByRefresh(
  { successful }: Pick<RefreshCounts, 'successful'>,
  { status, active_shards: active }: HealthAfterRefresh,
): string | undefined {
  if (status === 'red') return 'not every shard was refreshed'
  return successful < active ? `only ${successful} of ${active} active copies were refreshed` : undefined
}

/**
 * Makes everything that was written to the indices searchable on every copy that may answer; rejects when some copy may lack it. No answer
 * names copies: one that took part and was lost after that could make up in the count for an active one that did not. So where copies are
 * missing, as many must be active before another refresh as after it. One that is being recovered and took part can still make up for an
 * active one that did not.
 */
export async function refreshEveryCopy(
  client: Client,
  index: string[],
  options: Partial<RequestOptions>,
): Promise<void> {
  const health = () => client.cluster.health({ index, timeout: '1s' }, options)
  const first = await refreshOnce(client, index, options)
  if (first.successful === first.total) return
  const before = await health()
  const again = await refreshOnce(client, index, options)
  if (again.successful === again.total) return
  const after = await health()
  if (before.active_shards !== after.active_shards) throw new Error('copies came or went during the refresh')
  const missed = missedByRefresh(again, after)
  if (missed !== undefined) throw new Error(missed)
}

/** Rejects when the refresh failed on a copy, or reached none of an index. */
async function refreshOnce(client: Client, index: string[], options: Partial<RequestOptions>): Promise<RefreshCounts> {
  const { _shards: shards } = await client.indices.refresh({ index }, options)
  if (shards === undefined || shards.failed > 0) throw new Error(`refresh failed on ${shards?.failed ?? 'all'} shards`)
  if (shards.successful < index.length) throw new Error(`only ${shards.successful} shards were refreshed`)
  return shards
}
