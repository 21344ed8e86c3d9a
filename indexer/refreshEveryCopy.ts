import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, estypes } from '@elastic/elasticsearch'
import type { RequestOptions } from '../src/core/elasticsearch/elasticsearch.ts'

/** After this time (ms), the health of the indices is read: with a primary missing, Elasticsearch would answer the refresh after a minute only. */
const patienceMs = 2_000

/**
 * Makes every acknowledged write searchable on each copy that may answer a search. Rejects if a copy may lack one.
 *
 * A copy that the refresh did not reach counts neither as successful nor as failed. It is unassigned, which is harmless, or on a node that the master has not
 * yet noticed as away, and that still answers searches. So as many copies must be reached as are active afterwards, and no primary may be missing. A
 * copy that becomes active later was refreshed at the end of its recovery.
 *
 * Counts could hide a swap: copy A is refreshed and then lost, and active copy B was not reached. So, if copies are missing, their number must be the same
 * before and after a second refresh. A copy in recovery could still hide one.
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
  const before = await health()
  const again = await refreshOnce(client, index, options, isRed)
  if (again.successful === again.total) return
  const { status, active_shards: active } = await health()
  if (before.active_shards !== active) throw new Error('copies came or went during the refresh')
  if (status === 'red') throw notEveryShard()
  if (again.successful < active) throw new Error(`only ${again.successful} of ${active} active copies were refreshed`)
}

/** Refreshes once, and resolves with the number of copies and of those that were reached. Rejects if a copy failed, or an index has none. */
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
