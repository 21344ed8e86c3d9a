import { createHash, randomUUID } from 'node:crypto'
import { type RedisConnection, readRedisMemory, script } from '../../src/core/stores/redis.ts'
import { redisTimeMs } from '../../src/core/stores/watermark.ts'
import { clearRedis } from '../support/clearRedis.ts'
import { eventually } from '../support/eventually.ts'
import { connectReal, connectSimulated } from '../support/redisPair.ts'

describe.each([
  { name: 'The real Redis', connect: connectReal },
  { name: 'The simulated Redis', connect: connectSimulated },
])('$name', ({ connect }) => {
  const prefix = `test-${randomUUID().slice(0, 8)}`
  const key = (name: string): string => `${prefix}:${name}`
  let link: RedisConnection
  const hasMinute = async (name: string): Promise<boolean> => {
    const leftMs = await link.client.pttl(key(name))
    return 0 < leftMs && leftMs <= 60_000
  }
  beforeAll(async () => {
    link = await connect()
  })
  afterEach(() => clearRedis(link.client, prefix))
  afterAll(() => link.close())

  test('has a run id, a clock and a size, and answers a ping', async () => {
    expect(link.runId()).toMatch(/^[0-9a-f]{40}$/)
    expect(Math.abs((await redisTimeMs(link)) - Date.now())).toBeLessThan(1_000)
    expect((await readRedisMemory(link)).usedBytes).toBeGreaterThan(0)
    expect(await link.client.ping()).toBe('PONG')
  })

  test('a key expires; writing it anew keeps no expiry, changing it does', async () => {
    const { client } = link
    await client.set(key('short'), 'x', 'PX', 20)
    await client.hset(key('hash'), 'a', '1')
    expect(await client.pexpire(key('hash'), 20)).toBe(1)
    expect(await client.pexpire(key('none'), 20)).toBe(0)
    await eventually(async () => (await client.exists(key('short'), key('hash'))) === 0)
    await client.set(key('long'), '1', 'EX', 60)
    await client.incrby(key('long'), 2)
    expect(await hasMinute('long')).toBe(true)
    await client.set(key('long'), 'y')
    expect(await client.pttl(key('long'))).toBe(-1)
    expect(await client.pttl(key('none'))).toBe(-2)
    await client.hset(key('hash'), 'a', '1')
    expect(await client.expire(key('hash'), 60)).toBe(1)
    await client.hset(key('hash'), 'b', '1')
    expect(await hasMinute('hash')).toBe(true)
    expect(await client.pexpire(key('hash'), 0)).toBe(1)
    expect(await client.exists(key('hash'))).toBe(0)
  })

  test('a scan finds, page by page, every key that was there all the time', async () => {
    const names = Array.from({ length: 60 }, (_, at) => key(`scan-${at}`))
    for (const name of names) await link.client.set(name, '')
    const found = new Set<string>()
    let cursor = '0'
    do {
      const [next, page] = await link.client.scan(cursor, 'MATCH', `${key('scan-')}*`, 'COUNT', 7)
      for (const name of page) found.add(name)
      await link.client.del(key('scan-0'))
      cursor = next
    } while (cursor !== '0')
    for (const name of names.slice(1)) expect(found).toContain(name)
  })

  test('commands of one turn are carried out in their order, and answered in it', async () => {
    const answered: number[] = []
    const sums = Array.from({ length: 20 }, async (_, at) => {
      const sum = await link.client.incrby(key('n'), 1)
      answered.push(at)
      return sum
    })
    expect(await Promise.all(sums)).toEqual(Array.from({ length: 20 }, (_, at) => at + 1))
    expect(answered).toEqual(Array.from({ length: 20 }, (_, at) => at))
    expect(await link.client.pipeline().hset(key('h'), 'a', 1).get(key('h')).expire(key('h'), 60).exec()).toEqual([
      [null, 1],
      [expect.objectContaining({ message: expect.stringMatching(/^WRONGTYPE /) }), undefined],
      [null, 1],
    ])
  })

  test('errors say what they say', async () => {
    const { client } = link
    await client.set(key('text'), 'x')
    const wrongType = 'WRONGTYPE Operation against a key holding the wrong kind of value'
    await expect(client.hget(key('text'), 'a')).rejects.toThrow(new Error(wrongType))
    await expect(client.incrby(key('text'), 1)).rejects.toThrow('ERR value is not an integer or out of range')
    await expect(client.set(key('a'), 'x', 'PX', 0)).rejects.toThrow('ERR invalid expire time')
    const unknown = '0'.repeat(40)
    await expect(client.evalsha(unknown, 0)).rejects.toThrow(new Error('NOSCRIPT No matching script. Please use EVAL.'))
    await expect(client.eval(`return redis.call('HGET', KEYS[1], 'a')`, 1, key('text'))).rejects.toThrow(wrongType)
    await expect(client.eval('return {err = "MINE is mine"}', 0)).rejects.toThrow('MINE is mine')
    await expect(client.eval('left = 1', 0)).rejects.toThrow('Attempt to modify a readonly table')
    await expect(client.eval('return 1 +', 0)).rejects.toThrow('ERR Error compiling script')
  })

  test('a script is known by its hash once it was run', async () => {
    const lua = `return '${prefix}'`
    await expect(link.client.evalsha(shaOf(lua), 0)).rejects.toThrow('NOSCRIPT')
    expect(await script(lua)(link, [], [])).toBe(prefix)
    expect(await link.client.evalsha(shaOf(lua), 0)).toBe(prefix)
  })
})

const shaOf = (lua: string): string => createHash('sha1').update(lua).digest('hex')

describe('A script', () => {
  const prefix = `test-${randomUUID().slice(0, 8)}`
  let real: RedisConnection
  let simulated: RedisConnection
  beforeAll(async () => {
    real = await connectReal()
    simulated = await connectSimulated()
  })
  afterEach(() => clearRedis(real.client, prefix))
  afterAll(() => Promise.all([real.close(), simulated.close()]))

  test.each([
    ['numbers lose their fraction', 'return {1, 2.9, -2.9, 1e15}'],
    ['a list ends before its first nil', 'return {1, false, 3, nil, 5}'],
    ['true is 1, and false is nil', 'return {true, false}'],
    ['nothing', 'return'],
    ['a status', `return redis.call('SET', KEYS[1], 'x')`],
    ['the text of a status', `return redis.call('SET', KEYS[1], 'x').ok`],
    ['what is missing is false', `return tostring(redis.call('GET', KEYS[1] .. 'none'))`],
    ['a list with what is missing', `return redis.call('MGET', KEYS[1] .. 'none', KEYS[1])`],
    ['lists in lists', `return {{'a', {'b'}}, {}}`],
    ['numbers as text', `return {10 / 2 .. '', 1790000000000 .. '', 2^53 .. '', 0.1 .. '', tostring(1e100)}`],
    ['numbers with format', `return {string.format('%.0f', 1790000000000), string.format('%.0f', 2^53 - 1)}`],
    ['texts as numbers', `return {tonumber('1790000000123') % 1000, '10' + 5, 1000 * '60', tonumber('x') or 'no'}`],
    [
      'numbers as arguments',
      `redis.call('SET', KEYS[1], 1790000000123) redis.call('INCRBY', KEYS[1], 2) return redis.call('GET', KEYS[1])`,
    ],
    ['arguments', `return {#KEYS, #ARGV, ARGV[1], ARGV[2], unpack(ARGV)}`],
    ['patterns', `return {string.match('2026 acme/k/1', '^%S+ ([^/]+)/(.+)$')}`],
    ['what JSON holds', `local v = cjson.decode(ARGV[1]) return {v.a[2], v.n, v.f .. '', v.t.u, tostring(v.x)}`],
    ['null of JSON counts as true', `local v = cjson.decode(ARGV[1]) return v.none and 'is' or 'is not'`],
    [
      'null of JSON',
      `local v = cjson.decode(ARGV[1]) return {tostring(v.none == cjson.null), tostring(v.x == cjson.null)}`,
    ],
  ])('answers alike: %s', async (_what, lua) => {
    const evaluate = ({ client }: RedisConnection): Promise<unknown> =>
      client.eval(lua, 1, `${prefix}:${shaOf(lua)}`, '{"a":[1,"zwei"],"n":12,"f":0.5,"none":null,"t":{"u":"ü"}}', '2')
    expect(await evaluate(simulated)).toEqual(await evaluate(real))
  })
})
