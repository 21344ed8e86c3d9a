import type { Client } from '@elastic/elasticsearch'
import { refreshEveryCopy } from '../../../indexer/refresh.ts'

const index = ['forms', 'submissions']

/** A cluster that answers refreshes and questions for its health one after the other. */
function cluster(
  refreshes: readonly { total: number; successful: number; failed?: number }[],
  active: readonly number[],
) {
  const [counts, shards] = [[...refreshes], [...active]]
  const client = {
    indices: { refresh: async () => ({ _shards: { failed: 0, ...counts.shift() } }) },
    cluster: { health: async () => ({ status: 'yellow', active_shards: shards.shift() }) },
  }
  const refresh = (): Promise<void> => refreshEveryCopy(client as unknown as Client, index, {})
  return { refresh, isAsked: () => counts.length === 0 && shards.length === 0 }
}

test('a refresh in which every copy took part counts at once', async () => {
  const { refresh, isAsked } = cluster([{ total: 4, successful: 4 }], [])
  await refresh()
  expect(isAsked()).toBe(true)
})

test('one that missed a copy does not count, though as many are active now as took part: another must find as many as before', async () => {
  const { refresh, isAsked } = cluster(
    [
      { total: 4, successful: 3 },
      { total: 4, successful: 3 },
    ],
    [3, 3],
  )
  await refresh()
  expect(isAsked()).toBe(true)
})

test('another in which every copy took part counts, whatever came or went meanwhile', async () => {
  const { refresh, isAsked } = cluster(
    [
      { total: 4, successful: 3 },
      { total: 4, successful: 4 },
    ],
    [3],
  )
  await refresh()
  expect(isAsked()).toBe(true)
})

test.each([
  ['a copy was lost', [4, 3]],
  ['a copy has come', [3, 4]],
])('%s while others were missing: the refresh does not count', async (_what, active) => {
  const { refresh } = cluster(
    [
      { total: 4, successful: 3 },
      { total: 4, successful: 3 },
    ],
    active,
  )
  await expect(refresh()).rejects.toThrow('copies came or went during the refresh')
})

test('a copy that is active and was not refreshed twice rejects it', async () => {
  const { refresh } = cluster(
    [
      { total: 4, successful: 3 },
      { total: 4, successful: 3 },
    ],
    [4, 4],
  )
  await expect(refresh()).rejects.toThrow('only 3 of 4 active copies were refreshed')
})

test.each([
  ['failed on a copy', { total: 4, successful: 3, failed: 1 }],
  ['reached no copy of an index', { total: 4, successful: 1 }],
])('a refresh that %s rejects', async (_what, counts) => {
  await expect(cluster([counts], []).refresh()).rejects.toThrow(/refresh failed|were refreshed/)
})
