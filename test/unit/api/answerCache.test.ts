import { jest } from '@jest/globals'
import { Registry } from 'prom-client'
import { type Answer, AnswerCache } from '../../../src/api/answerCache.ts'

const mebibyte = 1024 * 1024
const answer = (bytes: number): Answer => ({ body: Buffer.alloc(bytes, 'x'), compression: undefined })
const stays = (): boolean => false

let registry: Registry
beforeEach(() => {
  registry = new Registry()
})

const cacheOf = (maxBytes: number): AnswerCache => new AnswerCache(maxBytes, registry)
const keptBytes = async (): Promise<number> =>
  (await registry.getSingleMetric('tidemark_http_answer_cache_bytes')?.get())?.values[0]?.value ?? -1
async function lookups(): Promise<Record<string, number>> {
  const { values } = (await registry.getSingleMetric('tidemark_http_answer_cache_lookups_total')?.get()) ?? {
    values: [],
  }
  return Object.fromEntries(values.map(({ labels, value }) => [labels['result'], value]))
}

test('an answer is cached under its name, and found under no other', async () => {
  const cache = cacheOf(mebibyte)
  const made = await cache.make('a', async () => answer(10), stays)
  expect(cache.get('a')).toEqual(made)
  expect(cache.get('b')).toBeUndefined()
  expect(await lookups()).toEqual({ hit: 1, shared: 0, miss: 1 })
})

test('a cached answer keeps no larger buffer in memory', async () => {
  const cache = cacheOf(mebibyte)
  const large = Buffer.alloc(100_000, 'y')
  await cache.make('part', async () => ({ body: large.subarray(10, 20), compression: undefined }), stays)
  expect(cache.get('part')?.body.buffer.byteLength).toBe(10)
})

test('cached answers take no more than the bound, and the least recently used answer is evicted first', async () => {
  const maxBytes = 64 * 1024
  const cache = cacheOf(maxBytes)
  await cache.make('used', async () => answer(1_000), stays)
  for (let count = 0; count < 1_000; count++) {
    await cache.make(`other ${count}`, async () => answer(1_000), stays)
    expect(cache.get('used')).toBeDefined()
    expect(await keptBytes()).toBeLessThanOrEqual(maxBytes)
  }
  expect(await keptBytes()).toBeGreaterThan(maxBytes / 2)
  expect(cache.get('other 0')).toBeUndefined()
})

test('an answer that would displace many others is not cached', async () => {
  const cache = cacheOf(mebibyte)
  await cache.make('small', async () => answer(10), stays)
  expect((await cache.make('large', async () => answer(mebibyte / 8), stays)).body.length).toBe(mebibyte / 8)
  expect(cache.get('large')).toBeUndefined()
  expect(cache.get('small')).toBeDefined()
})

test('a failure is the answer to all clients that wait for it, and is not cached', async () => {
  const cache = cacheOf(mebibyte)
  const failing = async (): Promise<Answer> => {
    throw new Error('away')
  }
  const asked = await Promise.allSettled([cache.make('a', failing, stays), cache.make('a', failing, stays)])
  expect(asked.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect((await cache.make('a', async () => answer(10), stays)).body.length).toBe(10)
})

test('an answer that fails because its client has disconnected is made again for the other clients, once', async () => {
  const cache = cacheOf(mebibyte)
  const aborted = Promise.withResolvers<Answer>()
  const make = jest.fn(async () => answer(10))
  const gone = cache.make(
    'a',
    () => aborted.promise,
    () => true,
  )
  const others = [cache.make('a', make, stays), cache.make('a', make, stays), cache.make('a', make, stays)]
  aborted.reject(new Error('aborted'))
  await expect(gone).rejects.toThrow('aborted')
  expect((await Promise.all(others)).map(({ body }) => body.length)).toEqual([10, 10, 10])
  expect(make).toHaveBeenCalledTimes(1)
})

test('with a cache of 0 bytes no answer is cached or shared', async () => {
  const cache = cacheOf(0)
  const make = jest.fn(async () => answer(10))
  await Promise.all([cache.make('a', make, stays), cache.make('a', make, stays)])
  expect([make.mock.calls.length, cache.get('a'), await keptBytes()]).toEqual([2, undefined, 0])
})
