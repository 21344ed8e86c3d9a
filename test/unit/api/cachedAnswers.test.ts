import { Registry } from 'prom-client'
import { AnswerCache } from '../../../src/api/answerCache.ts'
import type { RouteContext } from '../../../src/api/context.ts'
import { cachedOrMade } from '../../../src/api/respond.ts'
import { ElasticsearchUnavailable, InvalidSearch } from '../../../src/api/search/searchClient.ts'

const etag = 'W/"version"'
const ctx = { get: () => '', res: {}, state: { holder: { teamId: 'a' } } } as unknown as RouteContext

test('a cached answer stands in for an Elasticsearch that is away, not for a bug', async () => {
  const answers = new AnswerCache(1_000_000, new Registry())
  const ask = (isSettled: boolean, make: Parameters<typeof cachedOrMade>[3]) =>
    cachedOrMade(ctx, answers, { etag, isSettled }, make)
  const kept = await ask(true, async () => ({ body: Buffer.from('kept') }))
  expect(await ask(false, () => Promise.reject(new ElasticsearchUnavailable('deadline', 'slow')))).toEqual(kept)
  for (const bug of [new InvalidSearch('400 x', 'x'), new TypeError('undefined is not a function')])
    await expect(ask(false, () => Promise.reject(bug))).rejects.toBe(bug)
})
