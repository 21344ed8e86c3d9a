import { fromRedis, RedisUnavailable } from '../../../../src/core/redis/redis.ts'

test('every error of Redis is an outage, and its message has no arguments of the command', async () => {
  const refusal = Object.assign(new Error('READONLY'), { command: { name: 'get', args: ['secret'] } })
  const thrown = await fromRedis(Promise.reject(refusal)).catch((error: unknown) => error)
  expect(thrown).toBeInstanceOf(RedisUnavailable)
  expect(thrown).toMatchObject({ message: 'Redis is unavailable: READONLY' })
  expect(JSON.stringify(thrown)).not.toContain('secret')
  expect(thrown).not.toHaveProperty('cause')
})
