import { EventEmitter } from 'node:events'
import { jest } from '@jest/globals'
import type { RouteContext } from '../../../src/api/context.ts'
import { queueQueries } from '../../../src/api/queryQueue.ts'
import { ElasticsearchUnavailable } from '../../../src/api/search/searchClient.ts'
import { HttpError } from '../../../src/core/http/httpError.ts'

const middleware = queueQueries()

/** A request of a team, and its client. */
async function requestOf(teamId: string, isClosed = false, queue = middleware) {
  const res = Object.assign(new EventEmitter(), { closed: isClosed })
  const ctx = { state: { accountKey: { teamId } }, res } as unknown as RouteContext
  await queue(ctx, async () => undefined)
  const { turns } = ctx.state
  const [leave, listeners] = [() => res.emit('close'), () => res.listenerCount('close')]
  const reserve = (bytes: number) => turns.reserve(bytes)
  return { run: turns.run, runPart: turns.runPart, reserve, leave, listeners }
}
const mebibyte = 1024 * 1024
const overloaded = () => Promise.reject(new ElasticsearchUnavailable('overloaded', '429 circuit_breaking_exception'))
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))

afterEach(() => jest.useRealTimers())

test('a query resolves to its answer, or rejects with its failure', async () => {
  const { run, listeners } = await requestOf('acme')
  expect(await run(async () => 'answer')).toBe('answer')
  await expect(run(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
  expect(listeners()).toBe(0)
})

test('the query of a client that has disconnected is not sent', async () => {
  const { run } = await requestOf('acme', true)
  await expect(run(async () => 'answer')).rejects.toBeInstanceOf(HttpError)
})

test('a team whose queries hang takes about half of all places; its other queries are refused after two seconds, and other teams are answered', async () => {
  jest.useFakeTimers()
  const hanging = await Promise.all(Array.from({ length: 100 }, () => requestOf('slow')))
  const ended = Promise.allSettled(hanging.map(({ run }) => run(untilAborted)))
  const { run } = await requestOf('acme')
  expect(await run(async () => 'answer')).toBe('answer')
  await jest.advanceTimersByTimeAsync(2_000)
  await jest.advanceTimersByTimeAsync(3_000)
  const reasons = (await ended).map((each) => (each.status === 'rejected' ? each.reason : undefined))
  expect(reasons.filter((reason) => reason instanceof HttpError)).toHaveLength(64)
  expect(reasons.filter((reason) => reason?.message === 'aborted')).toHaveLength(36)
  expect(await run(async () => 'answer')).toBe('answer')
})

test('a team requests no more bytes at once than its share, in however many queries, and other teams are answered meanwhile', async () => {
  jest.useFakeTimers()
  const queue = queueQueries()
  let running = 0
  const ask = async (teamId: string, bytes: number): Promise<unknown> => {
    const { run } = await requestOf(teamId, false, queue)
    return await run((signal) => {
      running++
      return untilAborted(signal)
    }, bytes)
  }
  const ended = Promise.allSettled(Array.from({ length: 30 }, () => ask('large', 4 * mebibyte)))
  await jest.advanceTimersByTimeAsync(0)
  expect(running).toBe(4)
  const { run } = await requestOf('acme', false, queue)
  expect(await run(async () => 'answer', mebibyte)).toBe('answer')
  await jest.advanceTimersByTimeAsync(5_000)
  const reasons = (await ended).map((each) => (each.status === 'rejected' ? each.reason : undefined))
  expect(reasons.filter((reason) => reason instanceof HttpError && reason.status === 429)).toHaveLength(26)
})

test('a page of a team is read while its four exports run', async () => {
  jest.useFakeTimers()
  const queue = queueQueries()
  const release = Promise.withResolvers<string>()
  const exports = await Promise.all(Array.from({ length: 4 }, () => requestOf('acme', false, queue)))
  const parts = exports.map(({ runPart }) => runPart(() => release.promise, 4 * mebibyte))
  const { run } = await requestOf('acme', false, queue)
  expect(await run(async () => 'page', 100 * 16 * 1024)).toBe('page')
  release.resolve('part')
  expect(await Promise.all(parts)).toEqual(Array.from({ length: 4 }, () => 'part'))
})

test('a part of an export waits for its turn long after a page is refused', async () => {
  jest.useFakeTimers()
  const queue = queueQueries()
  const release = Promise.withResolvers<string>()
  const { run: runFirst } = await requestOf('large', false, queue)
  const { run, runPart } = await requestOf('large', false, queue)
  const first = runFirst(() => release.promise, 18 * mebibyte)
  const message = 'the team has too many queries in progress; retry when one has ended'
  const refused = expect(run(async () => 'page', mebibyte)).rejects.toMatchObject({ status: 429, message })
  const part = runPart(async () => 'part', mebibyte)
  await jest.advanceTimersByTimeAsync(29_000)
  await refused
  release.resolve('first')
  expect(await first).toBe('first')
  expect(await part).toBe('part')
})

test('a query that Elasticsearch rejects for load is repeated, at most seven times', async () => {
  const { run } = await requestOf('acme', false, queueQueries())
  let asked = 0
  const answered = run(async () => (++asked < 4 ? await overloaded() : 'answer'))
  expect([await answered, asked]).toEqual(['answer', 4])
  asked = 0
  const failed = run(() => {
    asked++
    return overloaded()
  })
  await expect(failed).rejects.toMatchObject({ reason: 'overloaded' })
  expect(asked).toBe(7)
})

test('a process sends fewer queries at once while Elasticsearch is overloaded, and more again as it answers', async () => {
  const queue = queueQueries()
  const atOnce = async (): Promise<number> => {
    jest.useFakeTimers()
    let running = 0
    const all = Array.from({ length: 60 }, async (_, at) => {
      const { run } = await requestOf(`team-${at}`, false, queue)
      return await run((signal) => {
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
  const { run } = await requestOf('acme', false, queue)
  let asked = 0
  await run(async () => (++asked < 2 ? await overloaded() : 'answer'))
  expect(await atOnce()).toBe(16)
  await expect(run(overloaded)).rejects.toMatchObject({ reason: 'overloaded' })
  expect(await atOnce()).toBe(1)
  for (let answer = 0; answer < 64; answer++) await run(async () => 'answer')
  expect(await atOnce()).toBe(32)
})

test('unsent answers count against the share of their team until they are sent or the client disconnects', async () => {
  jest.useFakeTimers()
  const queue = queueQueries()
  const clients = await Promise.all(Array.from({ length: 8 }, () => requestOf('large', false, queue)))
  for (const { reserve } of clients) await reserve(4 * mebibyte)
  const late = await requestOf('large', false, queue)
  const message = 'the team has too many answers in progress; retry when one has ended'
  const refused = expect(late.reserve(4 * mebibyte)).rejects.toMatchObject({ status: 429, message })
  const other = await requestOf('acme', false, queue)
  await other.reserve(4 * mebibyte)
  await jest.advanceTimersByTimeAsync(2_000)
  await refused
  clients[0]?.leave()
  await late.reserve(4 * mebibyte)
})

test.each([
  ['page', 'run', 5_000],
  ['part of an export', 'runPart', 35_000],
] as const)(
  'a query for a %s is aborted at its deadline, or at once when its client disconnects',
  async (_what, run, deadlineMs) => {
    jest.useFakeTimers()
    const [patient, leaving] = [await requestOf('acme'), await requestOf('acme')]
    const heard: string[] = []
    const hear = (error: Error): number => heard.push(error.message)
    const patience = patient[run](untilAborted).catch(hear)
    const gone = leaving[run](untilAborted).catch(hear)
    await jest.advanceTimersByTimeAsync(1)
    leaving.leave()
    await gone
    expect(heard).toEqual(['aborted'])
    await jest.advanceTimersByTimeAsync(deadlineMs - 2)
    expect(heard).toHaveLength(1)
    await jest.advanceTimersByTimeAsync(1)
    await patience
    expect(heard).toHaveLength(2)
    expect([jest.getTimerCount(), patient.listeners()]).toEqual([0, 0])
  },
)

test('the query of a client that disconnects before a repetition fails as overloaded', async () => {
  jest.useFakeTimers()
  const { run, leave } = await requestOf('acme', false, queueQueries())
  let asked = 0
  const failed = expect(
    run(() => {
      asked++
      return overloaded()
    }),
  ).rejects.toMatchObject({ reason: 'overloaded' })
  await jest.advanceTimersByTimeAsync(40)
  leave()
  await failed
  expect([asked, jest.getTimerCount()]).toEqual([1, 0])
})

test.each([
  ['of another reason', () => Promise.reject(new ElasticsearchUnavailable('refused', '403'))],
  ['that is a bug', () => Promise.reject(new TypeError('refused'))],
])('after a failure %s a query is not repeated, and as many run at once as before', async (_what, fail) => {
  const queue = queueQueries()
  const { run } = await requestOf('acme', false, queue)
  let asked = 0
  const failing = (): Promise<never> => {
    asked++
    return fail()
  }
  await expect(run(failing)).rejects.toThrow('refused')
  expect(asked).toBe(1)
  jest.useFakeTimers()
  const [left, right] = [await requestOf('a', false, queue), await requestOf('b', false, queue)]
  const first = left.run(untilAborted, 16 * mebibyte)
  expect(await right.run(async () => 'answer', 16 * mebibyte)).toBe('answer')
  const aborted = expect(first).rejects.toThrow('aborted')
  left.leave()
  await aborted
})

/** Whether a team that holds so much is given one mebibyte more. */
async function hasRoom(queue: ReturnType<typeof queueQueries>): Promise<boolean> {
  const { reserve, leave } = await requestOf('large', false, queue)
  const held = reserve(mebibyte).then(
    () => true,
    () => false,
  )
  await jest.advanceTimersByTimeAsync(2_000)
  leave()
  return await held
}

test('a larger answer of the same request counts only by the bytes that it adds, and a smaller one adds none', async () => {
  jest.useFakeTimers()
  const queue = queueQueries()
  const { reserve, leave, listeners } = await requestOf('large', false, queue)
  for (const size of [16, 31]) await reserve(size * mebibyte)
  expect([await hasRoom(queue), listeners()]).toEqual([true, 2])
  for (const size of [32, 32, 8]) await reserve(size * mebibyte)
  expect([await hasRoom(queue), listeners()]).toEqual([false, 3])
  leave()
  expect([await hasRoom(queue), listeners()]).toEqual([true, 0])
})

test('bytes that a request releases early are free at once, and count again when it takes them again', async () => {
  jest.useFakeTimers()
  const queue = queueQueries()
  const { reserve, leave, listeners } = await requestOf('large', false, queue)
  const release = await reserve(32 * mebibyte)
  expect([await hasRoom(queue), listeners()]).toEqual([false, 1])
  release()
  expect([await hasRoom(queue), listeners()]).toEqual([true, 0])
  await reserve(32 * mebibyte)
  expect(await hasRoom(queue)).toBe(false)
  leave()
  expect(await hasRoom(queue)).toBe(true)
})

test('an answer for a client that has disconnected does not count', async () => {
  jest.useFakeTimers()
  const queue = queueQueries()
  const gone = await requestOf('large', true, queue)
  await expect(gone.reserve(32 * mebibyte)).rejects.toMatchObject({ status: 503 })
  const [first, waiting] = [await requestOf('large', false, queue), await requestOf('large', false, queue)]
  await first.reserve(32 * mebibyte)
  const given = expect(waiting.reserve(mebibyte)).rejects.toMatchObject({ status: 503 })
  await jest.advanceTimersByTimeAsync(1)
  waiting.leave()
  await given
  first.leave()
  expect([await hasRoom(queue), jest.getTimerCount()]).toEqual([true, 0])
})
