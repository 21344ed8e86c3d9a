import { Registry } from 'prom-client'
import { AnswerCache } from '../../../src/api/answerCache.ts'
import type { RouteContext } from '../../../src/api/context.ts'
import { keptOrMade } from '../../../src/api/respond.ts'
import { ElasticsearchUnavailable, InvalidSearch } from '../../../src/api/search/searchClient.ts'

const etag = 'W/"version"'
const contextOf = (teamId: string): RouteContext =>
  ({ get: () => '', res: {}, state: { holder: { teamId } } }) as unknown as RouteContext
const openCache = (): AnswerCache => new AnswerCache(1_000_000, new Registry())
const made = (text: string) => async () => ({ body: Buffer.from(text) })
const textOf = (answer: Awaited<ReturnType<typeof keptOrMade>>): string =>
  answer === 'not-modified' ? answer : answer.body.toString()

test('an answer is kept for its own team, whatever the ETag of another one', async () => {
  const answers = openCache()
  const ask = async (team: string, isSettled: boolean, make = made(`of ${team}`)) =>
    textOf(await keptOrMade(contextOf(team), answers, { etag, isSettled }, make))
  const away = () => Promise.reject(new ElasticsearchUnavailable('unreachable', 'gone'))
  expect([await ask('a', true), await ask('b', true)]).toEqual(['of a', 'of b'])
  expect([await ask('a', false, away), await ask('b', false, away)]).toEqual(['of a', 'of b'])
  await expect(ask('c', false, away)).rejects.toThrow('unreachable')
})

test('a kept answer stands in for an Elasticsearch that is away, not for a bug', async () => {
  const answers = openCache()
  const ask = (isSettled: boolean, make: Parameters<typeof keptOrMade>[3]) =>
    keptOrMade(contextOf('a'), answers, { etag, isSettled }, make).then(textOf)
  await ask(true, made('kept'))
  expect(await ask(false, () => Promise.reject(new ElasticsearchUnavailable('deadline', 'slow')))).toBe('kept')
  for (const bug of [new InvalidSearch('400 x', 'x'), new TypeError('undefined is not a function')])
    await expect(ask(false, () => Promise.reject(bug))).rejects.toBe(bug)
})
