import { randomUUID } from 'node:crypto'
import { connectRedis, type RedisLink } from '../../src/replica/redis.ts'
import { type RedisKeys, redisKeys } from '../../src/replica/redisKeys.ts'
import { publishTidemark, readTidemark, withdrawTidemark } from '../../src/replica/tidemark.ts'
import { eventually } from '../support/eventually.ts'

const both = ['forms/0', 'submissions/0']

describe('The tidemark', () => {
  let redis: RedisLink
  let keys: RedisKeys
  const publish = (marks: Record<string, number>, partitions = both): Promise<void> =>
    publishTidemark(redis.client, keys, partitions, new Map(Object.entries(marks)))
  const tidemark = async (): Promise<string | null> => readTidemark(redis.client, keys)

  beforeAll(async () => {
    redis = connectRedis(process.env['REDIS_URL'] ?? '', () => undefined)
    await eventually(() => redis.runId() !== undefined)
  })
  beforeEach(() => {
    keys = redisKeys(`test-${randomUUID()}`)
  })
  afterEach(() => redis.client.del(keys.tidemark))
  afterAll(() => redis.close())

  test('is the lowest mark of all partitions', async () => {
    await publish({ 'forms/0': 5_000, 'submissions/0': 3_000 })
    expect(await tidemark()).toBe('1970-01-01T00:00:03.000Z')
  })

  test('is not published while a partition that nobody owns has no mark', async () => {
    await publish({ 'forms/0': 5_000 })
    expect(await tidemark()).toBeNull()
  })

  test('is held back by a partition whose owner publishes nothing', async () => {
    await publish({ 'forms/0': 1_000, 'submissions/0': 1_000 })
    await publish({ 'forms/0': 9_000 })
    expect(await tidemark()).toBe('1970-01-01T00:00:01.000Z')
  })

  test('never goes back, neither by an older mark nor by a new partition', async () => {
    await publish({ 'forms/0': 5_000, 'submissions/0': 5_000 })
    await publish({ 'forms/0': 1_000, 'submissions/0': 6_000 })
    expect(await tidemark()).toBe('1970-01-01T00:00:05.000Z')
    await publish({ 'submissions/1': 2_000 }, [...both, 'submissions/1'])
    expect(await tidemark()).toBe('1970-01-01T00:00:05.000Z')
  })

  test('keeps milliseconds of today exactly', async () => {
    const nowMs = Date.parse('2026-11-21T10:00:00.123Z')
    await publish({ 'forms/0': nowMs, 'submissions/0': nowMs })
    expect(await tidemark()).toBe('2026-11-21T10:00:00.123Z')
  })

  test('is gone after it was withdrawn', async () => {
    await publish({ 'forms/0': 5_000, 'submissions/0': 5_000 })
    await withdrawTidemark(redis.client, keys)
    expect(await tidemark()).toBeNull()
  })
})
