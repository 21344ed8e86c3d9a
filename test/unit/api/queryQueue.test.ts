import { EventEmitter } from 'node:events'
import { jest } from '@jest/globals'
import type { RouteContext } from '../../../src/api/context.ts'
import { queueQueries } from '../../../src/api/queryQueue.ts'
import { ElasticsearchUnavailable } from '../../../src/api/search/searchClient.ts'
import { HttpError } from '../../../src/core/process/httpError.ts'

const middleware = queueQueries()

/** A request of a team, and its client. */
async function requestOf(teamId: string, isClosed = false, queue = middleware) {
  const res = Object.assign(new EventEmitter(), { closed: isClosed })
  const ctx = { state: { holder: { teamId } }, res } as unknown as RouteContext
  await queue(ctx, async () => undefined)
  const { runQuery, runPart, holdAnswer: hold } = ctx.state
  const [leave, listeners] = [() => res.emit('close'), () => res.listenerCount('close')]
  return { runQuery, runPart, hold, leave, listeners }
}
const mebibyte = 1024 * 1024
const overloaded = () => Promise.reject(new ElasticsearchUnavailable('overloaded', '429 circuit_breaking_exception'))
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))

afterEach(() => jest.useRealTimers())

test('the answer to a question is handed on, or its failure', async () => {
  const { runQuery, listeners } = await requestOf('acme')
  expect(await runQuery(async () => 'answer')).toBe('answer')
  await expect(runQuery(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
  expect(listeners()).toBe(0)
})

test('a question of a client that has left before is not asked', async () => {
  const { runQuery } = await requestOf('acme', true)
  await expect(runQuery(async () => 'answer')).rejects.toBeInstanceOf(HttpError)
})

test('a team whose questions hang holds about half of all places; others are looked up, and its own are refused after two seconds', async () => {
  jest.useFakeTimers()
  const hanging = await Promise.all(Array.from({ length: 100 }, () => requestOf('slow')))
  const ended = Promise.allSettled(hanging.map(({ runQuery }) => runQuery(untilAborted)))
  const { runQuery } = await requestOf('acme')
  expect(await runQuery(async () => 'answer')).toBe('answer')
  await jest.advanceTimersByTimeAsync(2_000)
  await jest.advanceTimersByTimeAsync(3_000)
  const reasons = (await ended).map((each) => (each.status === 'rejected' ? each.reason : undefined))
  expect(reasons.filter((reason) => reason instanceof HttpError)).toHaveLength(64)
  expect(reasons.filter((reason) => reason?.message === 'aborted')).toHaveLength(36)
  expect(await runQuery(async () => 'answer')).toBe('answer')
})

test('a team asks for no more bytes at once than its share, however many questions these are; others are looked up meanwhile', async () => {
  jest.useFakeTimers()
  const queue = queueQueries()
  let running = 0
  const ask = async (teamId: string, bytes: number): Promise<unknown> => {
    const { runQuery } = await requestOf(teamId, false, queue)
    return await runQuery((signal) => {
      running++
      return untilAborted(signal)
    }, bytes)
  }
  const ended = Promise.allSettled(Array.from({ length: 30 }, () => ask('large', 4 * mebibyte)))
  await jest.advanceTimersByTimeAsync(0)
  expect(running).toBe(4)
  const { runQuery } = await requestOf('acme', false, queue)
  expect(await runQuery(async () => 'answer', mebibyte)).toBe('answer')
  await jest.advanceTimersByTimeAsync(5_000)
  const reasons = (await ended).map((each) => (each.status === 'rejected' ? each.reason : undefined))
  expect(reasons.filter((reason) => reason instanceof HttpError && reason.status === 429)).toHaveLength(26)
})

test('a page of a team is read beside the parts of four exports', async () => {
  jest.useFakeTimers()
  const queue = queueQueries()
  const release = Promise.withResolvers<string>()
  const exports = await Promise.all(Array.from({ length: 4 }, () => requestOf('acme', false, queue)))
  const parts = exports.map(({ runPart }) => runPart(() => release.promise, 4 * mebibyte))
  const { runQuery } = await requestOf('acme', false, queue)
  expect(await runQuery(async () => 'page', 100 * 16 * 1024)).toBe('page')
  release.resolve('part')
  expect(await Promise.all(parts)).toEqual(Array.from({ length: 4 }, () => 'part'))
})

test('a part of an export waits for its turn long after a page is refused', async () => {
  jest.useFakeTimers()
  const queue = queueQueries()
  const release = Promise.withResolvers<string>()
  const { runQuery: runFirst } = await requestOf('large', false, queue)
  const { runQuery, runPart } = await requestOf('large', false, queue)
  const first = runFirst(() => release.promise, 18 * mebibyte)
  const refused = expect(runQuery(async () => 'page', mebibyte)).rejects.toMatchObject({ status: 429 })
  const part = runPart(async () => 'part', mebibyte)
  await jest.advanceTimersByTimeAsync(29_000)
  await refused
  release.resolve('first')
  expect(await first).toBe('first')
  expect(await part).toBe('part')
})

test('a question that Elasticsearch has no room for is asked again, and fails only when that lasts', async () => {
  const { runQuery } = await requestOf('acme', false, queueQueries())
  let asked = 0
  const answered = runQuery(async () => (++asked < 4 ? await overloaded() : 'answer'))
  expect(await answered).toBe('answer')
  await expect(runQuery(overloaded)).rejects.toMatchObject({ reason: 'overloaded' })
})

test('a process asks for less at once while Elasticsearch has too much to do, and for more again as it answers', async () => {
  const queue = queueQueries()
  const atOnce = async (): Promise<number> => {
    jest.useFakeTimers()
    let running = 0
    const all = Array.from({ length: 60 }, async (_, at) => {
      const { runQuery } = await requestOf(`team-${at}`, false, queue)
      return await runQuery((signal) => {
        running++
        return untilAborted(signal)
      }, mebibyte)
    })
    const ended = Promise.allSettled(all)
    await jest.advanceTimersByTimeAsync(1)
    const found = running
    await jest.advanceTimersByTimeAsync(10_000)
    await ended
    jest.useRealTimers()
    return found
  }
  expect(await atOnce()).toBe(32)
  const { runQuery } = await requestOf('acme', false, queue)
  await expect(runQuery(overloaded)).rejects.toMatchObject({ reason: 'overloaded' })
  expect(await atOnce()).toBe(1)
  for (let answer = 0; answer < 64; answer++) await runQuery(async () => 'answer')
  expect(await atOnce()).toBe(32)
})

test('answers that are not sent yet are held within the share of their team, and given back when the client is gone', async () => {
  jest.useFakeTimers()
  const queue = queueQueries()
  const clients = await Promise.all(Array.from({ length: 8 }, () => requestOf('large', false, queue)))
  for (const { hold } of clients) await hold(4 * mebibyte)
  const late = await requestOf('large', false, queue)
  const refused = expect(late.hold(4 * mebibyte)).rejects.toMatchObject({ status: 429 })
  const other = await requestOf('acme', false, queue)
  await other.hold(4 * mebibyte)
  await jest.advanceTimersByTimeAsync(2_000)
  await refused
  clients[0]?.leave()
  await late.hold(4 * mebibyte)
})
