import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, estypes } from '@elastic/elasticsearch'
import type { RequestOptions } from '../src/core/elasticsearch/elasticsearch.ts'

/** After this time (ms), the health is read: while a primary is missing, Elasticsearch answers a refresh only after a minute. */
const patienceMs = 2_000

/**
 * Makes every acknowledged write searchable on each copy of a shard that may answer a search. Rejects if a copy may lack a write.
 *
 * A copy that the refresh did not reach is neither `successful` nor `failed`. Either it is unassigned, which is harmless; or its node is cut off, still counts
 * as present, and answers searches. So as many copies must be reached as are active after the refresh, and no primary may be missing. A copy that becomes
 * active later was refreshed by its recovery.
 *
 * These numbers could hide an exchange: copy A is refreshed and lost, and the active copy B was not reached. So, if a refresh misses a copy, a second one
 * follows, and as many copies must be active before it as after it. One exchange remains unnoticed: copy A is lost while a copy in recovery becomes active.
 */
export async function refreshEveryCopy(
  client: Client,
  index: string[],
  options: Partial<RequestOptions>,
): Promise<void> {
  const health = () => client.cluster.health({ index, timeout: '1s', master_timeout: '1s' }, options)
  const isRed = async (): Promise<boolean> => (await health()).status === 'red'
  const first = await refreshOnce(client, index, options, isRed)
  if (first.successful === first.total) return
  const between = await health()
  const second = await refreshOnce(client, index, options, isRed)
  if (second.successful === second.total) return
  const { status, active_shards: active } = await health()
  if (between.active_shards !== active) throw new Error('copies came or went during the refresh')
  if (status === 'red') throw notEveryShard()
  if (second.successful < active) throw new Error(`only ${second.successful} of ${active} active copies were refreshed`)
}

/** Resolves with the numbers of all copies and of refreshed ones. Rejects if a copy failed or a primary is missing. */
async function refreshOnce(
  client: Client,
  index: string[],
  options: Partial<RequestOptions>,
  isRed: () => Promise<boolean>,
) {
  const stop = new AbortController()
  const signal = AbortSignal.any([stop.signal, ...(options.signal === undefined ? [] : [options.signal])])
  const refreshing = client.indices.refresh({ index }, { ...options, signal })
  const late = sleep(patienceMs, undefined, { signal, ref: false })
  late.catch(() => undefined)
  try {
    const isLate = await Promise.race([refreshing.then(() => false), late.then(() => true)])
    if (isLate && (await isRed())) throw notEveryShard()
    const { _shards: shards } = await refreshing
    return expectRefreshed(shards, index)
  } finally {
    stop.abort()
    refreshing.catch(() => undefined)
  }
}

const notEveryShard = (): Error => new Error('not every shard was refreshed')

function expectRefreshed(shards: estypes.ShardStatistics | undefined, index: readonly string[]) {
  if (shards === undefined || shards.failed > 0) throw new Error(`refresh failed on ${shards?.failed ?? 'all'} shards`)
  if (shards.successful < index.length) throw new Error(`only ${shards.successful} shards were refreshed`)
  return shards
}
