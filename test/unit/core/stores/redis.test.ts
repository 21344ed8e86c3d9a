import { fromRedis, RedisUnavailable } from '../../../../src/core/stores/redis.ts'

test('passes an answer on', async () => {
  expect(await fromRedis(Promise.resolve(1))).toBe(1)
})

test('every error is an outage, without the arguments of the command', async () => {
  const refusal = Object.assign(new Error('READONLY'), { command: { name: 'get', args: ['secret'] } })
  const thrown = await fromRedis(Promise.reject(refusal)).catch((error: unknown) => error)
  expect(thrown).toBeInstanceOf(RedisUnavailable)
  expect(thrown).toMatchObject({ message: 'Redis is unavailable: READONLY' })
  expect(JSON.stringify(thrown)).not.toContain('secret')
  expect(thrown).not.toHaveProperty('cause')
})

test('an error of a named class is passed on', async () => {
  const error = new RangeError('mine')
  await expect(fromRedis(Promise.reject(error), TypeError, RangeError)).rejects.toBe(error)
})
