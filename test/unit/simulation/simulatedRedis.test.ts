import type { RedisConnection } from '../../../src/core/stores/redis.ts'
import { SimulatedRedis } from '../../simulation/engines/redis/simulatedRedis.ts'
import { localHost, localNetwork } from '../../simulation/network.ts'
import { eventually } from '../../support/eventually.ts'
import { seeded } from '../../support/random.ts'

const closed = /max retries per request limit/
const notWritable = "Stream isn't writeable and enableOfflineQueue options is false"

describe('The simulated Redis', () => {
  let nowMs: number
  let redis: SimulatedRedis
  let link: RedisConnection
  const reconnected = (before: string | undefined): Promise<void> =>
    eventually(() => link.runId() !== undefined && link.runId() !== before)
  beforeEach(async () => {
    nowMs = Date.parse('2026-01-01T00:00:00.000Z')
    redis = new SimulatedRedis({ ...localHost(seeded(1).next), nowMs: () => nowMs })
    link = redis.connect(localNetwork, 'test')
    await eventually(() => link.runId() !== undefined)
  })
  afterEach(() => link.close())

  test('that restarts lacks what was written in the last milliseconds, and has another run id', async () => {
    const { client } = link
    await client.hset('h', 'kept', 1)
    await client.set('deleted', 'x')
    await client.set('changed', 'old', 'PX', 5_000)
    nowMs += 1_000
    await client.hset('h', 'lost', 1)
    await client.set('created', 'x')
    await client.del('deleted')
    await client.set('changed', 'new')
    const before = link.runId()
    redis.restart({ losesLastMs: 0 })
    await reconnected(before)
    await expect(client.hgetall('h')).resolves.toEqual({ kept: '1', lost: '1' })
    nowMs += 999
    const next = link.runId()
    redis.restart({ losesLastMs: 1_000 })
    await reconnected(next)
    await expect(client.hgetall('h')).resolves.toEqual({ kept: '1' })
    await expect(client.mget(['created', 'deleted', 'changed'])).resolves.toEqual([null, 'x', 'old'])
    expect(await client.pttl('changed')).toBe(3_001)
  })

  test('closes connections when it restarts: no run is known, and commands fail at once, until the client is back', async () => {
    const before = link.runId()
    redis.restart({ losesLastMs: 0 })
    await expect(link.client.get('a')).rejects.toThrow(closed)
    expect(link.runId()).toBeUndefined()
    await expect(link.client.get('a')).rejects.toThrow(notWritable)
    await reconnected(before)
    expect(await link.client.get('a')).toBeNull()
    await link.close()
    await expect(link.client.get('a')).rejects.toThrow('Connection is closed.')
  })

  test('refuses what takes memory while it is full, also in scripts that have written nothing yet', async () => {
    const { client } = link
    await client.hset('h', 'a', '1')
    redis.isFull = true
    const full = /OOM command not allowed/
    await expect(client.set('a', 'x')).rejects.toThrow(full)
    expect(await client.hget('h', 'a')).toBe('1')
    expect(await client.time()).toHaveLength(2)
    const reads = "local a = redis.call('HGET', KEYS[1], 'a')"
    expect(await client.eval(`${reads} return a`, 1, 'h')).toBe('1')
    await expect(client.eval(`${reads} redis.call('HSET', KEYS[1], 'b', '2') return a`, 1, 'h')).rejects.toThrow(full)
    await client.eval("redis.call('HDEL', KEYS[1], 'a') redis.call('HSET', KEYS[1], 'c', '3') return 1", 1, 'h')
    redis.isFull = false
    expect(await client.hgetall('h')).toEqual({ c: '3' })
    expect(await client.set('a', 'x')).toBe('OK')
  })
})
