import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, estypes } from '@elastic/elasticsearch'
import type { RequestOptions } from '../src/core/elasticsearch/elasticsearch.ts'

/** Elasticsearch waits a minute for a primary that is missing, and has long refreshed all other shards. */
const patienceMs = 2_000

/**
 * Makes everything that was written to the indices searchable on every copy that may answer; rejects when some copy may lack it.
 *
 * A copy that a refresh could not reach is neither successful nor failed. It may be unassigned, which is harmless, or still answer searches,
 * until the master notices that its node is away. So as many copies must take part as are active afterwards, and no primary may be missing.
 * A copy that becomes active later was refreshed at the end of its recovery.
 *
 * No answer names copies: one that took part and was then lost could make up in the count for an active one that did not. So where copies
 * are missing, as many must be active before another refresh as after it. One that is being recovered can still make up so.
 */
export async function refreshEveryCopy(client: Client, index: string[], options: Partial<RequestOptions>) {
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

/** The copies that a refresh was for, and how many took part. Rejects when it failed on one, or reached none of an index. */
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
