import { fromRedis, RedisUnavailable } from '../../../../src/core/stores/redis.ts'
import { SimulatedRedis } from '../../../simulation/engines/redis/simulatedRedis.ts'
import { localHost, localNetwork, type Network, NetworkFailure } from '../../../simulation/network.ts'
import { eventually } from '../../../support/eventually.ts'

test('every error is an outage, without the arguments of the command', async () => {
  const refusal = Object.assign(new Error('READONLY'), { command: { name: 'get', args: ['secret'] } })
  const thrown = await fromRedis(Promise.reject(refusal)).catch((error: unknown) => error)
  expect(thrown).toBeInstanceOf(RedisUnavailable)
  expect(thrown).toMatchObject({ message: 'Redis is unavailable: READONLY' })
  expect(JSON.stringify(thrown)).not.toContain('secret')
  expect(thrown).not.toHaveProperty('cause')
})

test('a connection knows the run of Redis also when Redis hung as it was asked for it first', async () => {
  let unanswered = 2
  const network: Network = {
    call: async (_engine, what, work) => {
      if (what === 'info' && unanswered-- > 0) throw new NetworkFailure('timeout', what)
      return await work()
    },
  }
  const link = new SimulatedRedis(localHost()).connect(network, 'test')
  await eventually(() => link.runId() !== undefined)
  expect(unanswered).toBeLessThan(0)
  await link.close()
})

test('a master to which a failover has gone back is another run than before', async () => {
  const redis = new SimulatedRedis(localHost())
  const link = redis.connect(localNetwork, 'test')
  const runs: (string | undefined)[] = []
  for (let failovers = 0; failovers <= 2; failovers++) {
    await eventually(() => link.runId() !== undefined)
    runs.push(link.runId())
    redis.failOver()
    await eventually(() => link.runId() !== runs.at(-1))
  }
  expect(new Set(runs).size).toBe(3)
  expect(runs[2]).toMatch(new RegExp(`^${runs[0]}-`))
  await link.close()
})
