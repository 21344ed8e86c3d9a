import { createHash } from 'node:crypto'
import { type RedisConnection, script } from '../../../src/core/stores/redis.ts'
import { SimulatedRedis } from '../../simulation/engines/redis/simulatedRedis.ts'
import { type Host, localHost, type Network, NetworkFailure } from '../../simulation/network.ts'
import { eventually } from '../../support/eventually.ts'
import { seeded } from '../../support/random.ts'

/** A call that is on its way. */
type Held = { arrive(): Promise<void>; answer(): void; fail(kind: NetworkFailure['kind']): void }

/** A network on which calls arrive and are answered at once, or when a test says so. */
class HoldingNetwork implements Network {
  readonly held: Held[] = []
  isHolding = false

  async call<T>(_engine: string, what: string, work: () => T | Promise<T>): Promise<T> {
    if (!this.isHolding) return await work()
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    let result: T
    this.held.push({
      arrive: async () => {
        result = await work()
      },
      answer: () => resolve(result),
      fail: (kind) => reject(new NetworkFailure(kind, what)),
    })
    return await promise
  }
}

const closed = /max retries per request limit/
const notWritable = "Stream isn't writeable and enableOfflineQueue options is false"

describe('The simulated Redis', () => {
  let nowMs: number
  let redis: SimulatedRedis
  let network: HoldingNetwork
  let link: RedisConnection
  const hostWith = (seed: number): Host => ({ ...localHost(seeded(seed).next), nowMs: () => nowMs })
  const reconnected = (before: string | undefined): Promise<void> =>
    eventually(() => link.runId() !== undefined && link.runId() !== before)
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  beforeEach(async () => {
    nowMs = Date.parse('2026-01-01T00:00:00.000Z')
    redis = new SimulatedRedis(hostWith(1))
    network = new HoldingNetwork()
    link = redis.connect(network, 'test')
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

  test('knows no script when it has restarted', async () => {
    const own = script('return 1')
    const sha = createHash('sha1').update('return 1').digest('hex')
    await own(link, [], [])
    const before = link.runId()
    redis.restart({ losesLastMs: 0 })
    await reconnected(before)
    await expect(link.client.evalsha(sha, 0)).rejects.toThrow('NOSCRIPT')
    expect(await own(link, [], [])).toBe(1)
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

  test('may have carried out a command whose connection broke', async () => {
    network.isHolding = true
    const sum = link.client.incrby('n', 1)
    await turn()
    await network.held[0]?.arrive()
    network.held[0]?.fail('unreachable')
    await expect(sum).rejects.toThrow(closed)
    network.isHolding = false
    await eventually(() => link.runId() !== undefined)
    expect(await link.client.get('n')).toBe('1')
  })

  test('carries out nothing on a connection of an earlier run', async () => {
    network.isHolding = true
    const sum = link.client.incrby('n', 1)
    await turn()
    network.isHolding = false
    const before = link.runId()
    redis.restart({ losesLastMs: 0 })
    await expect(network.held[0]?.arrive()).rejects.toThrow('closed the connection')
    await expect(sum).rejects.toThrow(closed)
    await reconnected(before)
    expect(await link.client.get('n')).toBeNull()
  })

  test('receives a command that has timed out later, once, and before those that were sent after it', async () => {
    network.isHolding = true
    const first = link.client.incrby('n', 1)
    await turn()
    network.held[0]?.fail('timeout')
    await expect(first).rejects.toThrow('Command timed out')
    expect(link.runId()).toBeDefined()
    network.isHolding = false
    expect(await link.client.incrby('n', 1)).toBe(2)
    await network.held[0]?.arrive()
    expect(await link.client.get('n')).toBe('2')
  })

  test('answers in order, also when calls overtake each other', async () => {
    network.isHolding = true
    const answered: string[] = []
    const first = link.client.incrby('n', 1).then((sum) => answered.push(`first ${sum}`))
    await turn()
    const second = link.client.incrby('n', 1).then((sum) => answered.push(`second ${sum}`))
    await turn()
    const [one, two] = network.held
    await two?.arrive()
    await one?.arrive()
    two?.answer()
    await Promise.all([first, second])
    expect(answered).toEqual(['first 1', 'second 2'])
    one?.answer()
    network.isHolding = false
    expect(await link.client.get('n')).toBe('2')
  })
})
