import type { Client } from '@elastic/elasticsearch'
import { refreshEveryCopy } from '../../../indexer/refreshEveryCopy.ts'

type Refresh = { readonly successful: number; readonly total?: number; readonly failed?: number }

/** Refreshes two indices of a cluster that answers refreshes and questions for its health one after the other; 'counts', or why not. */
async function refreshed(refreshes: readonly Refresh[], active: readonly number[], status = 'yellow'): Promise<string> {
  const [counts, shards] = [[...refreshes], [...active]]
  const client = {
    indices: { refresh: async () => ({ _shards: { total: 8, failed: 0, ...counts.shift() } }) },
    cluster: { health: async () => ({ status, active_shards: shards.shift() }) },
  }
  const refreshing = refreshEveryCopy(client as unknown as Client, ['forms', 'submissions'], {})
  const result = await refreshing.then(() => 'counts').catch((error: Error) => error.message)
  expect([counts, shards]).toEqual([[], []])
  return result
}
const [all, half] = [{ successful: 8 }, { successful: 4 }]

test.each([
  ['every copy takes part', [all], [], 'counts'],
  ['the replicas are unassigned', [half, half], [4, 4], 'counts'],
  ['every copy takes part the second time, whatever came or went', [half, all], [3], 'counts'],
  ['a relocating copy takes part where it is and goes to', [{ successful: 7 }, { successful: 7 }], [6, 6], 'counts'],
  ['a copy is lost', [half, half], [5, 4], 'copies came or went during the refresh'],
  ['a copy has come', [half, half], [4, 5], 'copies came or went during the refresh'],
  ['it fails on a copy', [{ successful: 7, failed: 1 }], [], 'refresh failed on 1 shards'],
  ['it reaches no copy of an index', [{ successful: 1 }], [], 'only 1 shards were refreshed'],
])('a refresh in which %s', async (_when, refreshes, active, result) => {
  expect(await refreshed(refreshes, active)).toBe(result)
})

test('a refresh does not count when a primary is missing', async () => {
  expect(await refreshed([half, half], [4, 4], 'red')).toBe('not every shard was refreshed')
})
