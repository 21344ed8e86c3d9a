import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, estypes } from '@elastic/elasticsearch'
import type { RequestOptions } from '../src/core/elasticsearch/elasticsearch.ts'

/** After this time (ms), the cluster's health is queried: without a primary, Elasticsearch answers only after a minute. */
const patienceMs = 2_000

/**
 * Makes every acknowledged write searchable on each copy of a shard (primary or replica) that may answer a search. Rejects if a copy may lack a write.
 *
 * A refresh does not report a copy that it has not reached: it is unassigned, which is harmless; or its node is cut off, but still answers searches. So no
 * primary may be missing, and at least as many copies must have been reached as are active. (A copy that becomes active later is refreshed by its recovery.)
 *
 * This number alone could hide that copy A is refreshed and then lost, while copy B is active, but was not reached. So, if a refresh misses a copy, a second
 * one follows, and as many copies must be active before it as after it. One case remains unnoticed: B is not reached again, and during the second refresh, A is
 * lost and a new copy becomes active.
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
  const beforeSecond = await health()
  const second = await refreshOnce(client, index, options, isRed)
  if (second.successful === second.total) return
  const { status, active_shards: activeCopies } = await health()
  if (beforeSecond.active_shards !== activeCopies) throw new Error('copies came or went during the refresh')
  if (status === 'red') throw notEveryShard()
  if (second.successful < activeCopies)
    throw new Error(`only ${second.successful} of ${activeCopies} active copies were refreshed`)
}

/** Rejects if a copy failed or a primary is missing. */
async function refreshOnce(
  client: Client,
  index: string[],
  options: Partial<RequestOptions>,
  isRed: () => Promise<boolean>,
) {
  // Aborts the request or the sleep, whichever is left.
  const end = new AbortController()
  const signal = options.signal === undefined ? end.signal : AbortSignal.any([end.signal, options.signal])
  const refreshing = client.indices.refresh({ index }, { ...options, signal })
  const patience = sleep(patienceMs, undefined, { signal, ref: false })
  patience.catch(() => undefined)
  try {
    const isLate = await Promise.race([refreshing.then(() => false), patience.then(() => true)])
    if (isLate && (await isRed())) throw notEveryShard()
    const { _shards: shards } = await refreshing
    return expectRefreshed(shards, index)
  } finally {
    end.abort()
    refreshing.catch(() => undefined)
  }
}

const notEveryShard = (): Error => new Error('not every shard was refreshed')

/** Each index has at least one copy. */
function expectRefreshed(shards: estypes.ShardStatistics | undefined, index: readonly string[]) {
  if (shards === undefined || shards.failed > 0) throw new Error(`refresh failed on ${shards?.failed ?? 'all'} shards`)
  if (shards.successful < index.length) throw new Error(`only ${shards.successful} shards were refreshed`)
  return shards
}
