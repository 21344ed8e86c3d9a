import { randomUUID } from 'node:crypto'
import type { TeamId } from '../../src/core/model/ids.ts'
import { type TeamList, teamList } from '../../src/core/model/teamList.ts'
import { markPending, type PendingMark, pendingMarkLifeMs, settlePending } from '../../src/core/stores/pendingMarks.ts'
import { connectRedis, type RedisConnection } from '../../src/core/stores/redis.ts'
import { type RedisKeys, redisKeys } from '../../src/core/stores/redisKeys.ts'
import { claimPartitions } from '../../src/core/stores/watermark.ts'
import { holdsAnswer, holdsRequest } from '../support/elasticsearchFaults.ts'
import { formEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { type FaultyElasticsearch, startFaultyElasticsearch } from '../support/faultyElasticsearch.ts'
import { Gate } from '../support/gate.ts'
import type { Program } from '../support/programs.ts'
import { usePipeline } from '../support/usePipeline.ts'

const team = 'acme' as TeamId
const list = teamList('forms', team)

let redis: RedisConnection
beforeAll(async () => {
  redis = connectRedis(process.env['REDIS_URL'] ?? '', () => undefined)
  await eventually(() => redis.runId() !== undefined)
})
afterAll(() => redis.close())

/** Partition → owner. */
const marksOf = async (keys: RedisKeys, of: TeamList): Promise<Record<string, string>> => {
  const marks = Object.entries(await redis.client.hgetall(keys.pendingWrites(of)))
  return Object.fromEntries(marks.map(([partition, mark]) => [partition, mark.split(' ')[0] ?? '']))
}

describe('Marks of pending writes', () => {
  let keys: RedisKeys
  const claim = (owner: string): Promise<unknown> =>
    claimPartitions(redis, keys, owner, ['forms/0', 'forms/1'], undefined)
  const mark = (owner: string, partition = 'forms/0', of = list): PendingMark => ({ list: of, partition, owner })

  beforeEach(async () => {
    keys = redisKeys(`test-${randomUUID()}`)
    await claim('a')
  })
  afterEach(async () => {
    const names = await redis.client.keys(`${keys.pendingWrites('' as TeamList)}*`)
    await redis.client.del(keys.partitionOwners, ...names)
  })

  test('a list has a mark for each partition, and none once all are settled', async () => {
    await markPending(redis, keys, [mark('a', 'forms/0'), mark('a', 'forms/1')])
    expect(await marksOf(keys, list)).toEqual({ 'forms/0': 'a', 'forms/1': 'a' })
    await settlePending(redis, keys, [mark('a', 'forms/0')])
    expect(await marksOf(keys, list)).toEqual({ 'forms/1': 'a' })
    await settlePending(redis, keys, [mark('a', 'forms/1')])
    expect(await redis.client.exists(keys.pendingWrites(list))).toBe(0)
  })

  test('more marks than one script takes are all set and all removed', async () => {
    const many = Array.from({ length: 2_001 }, (_, at) => mark('a', 'forms/0', teamList('forms', `t${at}` as TeamId)))
    const counted = async (): Promise<number> =>
      await redis.client.exists(...many.map((each) => keys.pendingWrites(each.list)))
    await markPending(redis, keys, many)
    expect(await counted()).toBe(many.length)
    await settlePending(redis, keys, many)
    expect(await counted()).toBe(0)
  })

  test('whoever claims a partition next takes over its marks, and only that one removes them', async () => {
    await markPending(redis, keys, [mark('a')])
    await claim('b')
    await markPending(redis, keys, [mark('b')])
    await settlePending(redis, keys, [mark('a')])
    expect(await marksOf(keys, list)).toEqual({ 'forms/0': 'b' })
    await settlePending(redis, keys, [mark('b')])
    expect(await marksOf(keys, list)).toEqual({})
  })

  test('a former claimant that still writes marks its lists, but replaces no mark of the present one', async () => {
    await claim('b')
    await markPending(redis, keys, [mark('b', 'forms/0'), mark('a', 'forms/0'), mark('a', 'forms/1')])
    expect(await marksOf(keys, list)).toEqual({ 'forms/0': 'b', 'forms/1': 'a' })
  })

  test('a mark that nobody removes goes after an hour, whatever else is marked meanwhile', async () => {
    await markPending(redis, keys, [mark('a', 'forms/0'), mark('a', 'forms/1')])
    const name = keys.pendingWrites(list)
    const [owner, untilMs] = (await redis.client.hget(name, 'forms/0'))?.split(' ') ?? []
    expect(Number(untilMs) - Date.now()).toBeGreaterThan(pendingMarkLifeMs - 60_000)
    // As if it had been set an hour ago.
    await redis.client.hset(name, 'forms/0', `${owner} ${Number(untilMs) - pendingMarkLifeMs - 1}`)
    await redis.client.pexpire(name, 10_000)
    await markPending(redis, keys, [mark('a', 'forms/1')])
    expect(await marksOf(keys, list)).toEqual({ 'forms/1': 'a' })
    expect(await redis.client.pttl(name)).toBeGreaterThan(pendingMarkLifeMs - 60_000)
  })

  test('a mark that is set again counts for another hour', async () => {
    await markPending(redis, keys, [mark('a')])
    const name = keys.pendingWrites(list)
    await redis.client.hset(name, 'forms/0', `a ${Date.now() + 1_000}`)
    await markPending(redis, keys, [mark('a')])
    expect(Number((await redis.client.hget(name, 'forms/0'))?.split(' ')[1])).toBeGreaterThan(Date.now() + 1_000_000)
  })
})

describe('A list has a mark from before a change of it can be found until it has a new change token', () => {
  const pipeline = usePipeline({ forEachTest: true })
  let elasticsearch: FaultyElasticsearch
  let indexer: Program
  let keys: RedisKeys
  let token: string | null

  const isFound = async (): Promise<boolean> => {
    const [url = ''] = (process.env['ELASTICSEARCH_URL'] ?? '').split(',')
    const answer = await fetch(`${url}/${pipeline.names['INDEX_PREFIX']}-forms/_count?q=teamId:${team}`)
    return ((await answer.json()) as { count: number }).count > 1
  }
  const isMarked = async (): Promise<boolean> => (await redis.client.exists(keys.pendingWrites(list))) === 1
  const tokenNow = (): Promise<string | null> => redis.client.get(keys.changeToken(list))
  const produceForm = (id: string): Promise<void> => {
    const form = formEntity({ id, teamId: team })
    return pipeline.produce('forms', [{ key: `${team}/${id}`, value: JSON.stringify({ revision: 1, form }) }])
  }

  beforeEach(async () => {
    elasticsearch = await startFaultyElasticsearch(process.env['ELASTICSEARCH_URL'] ?? '')
    keys = redisKeys(pipeline.names['INDEX_PREFIX'] ?? '')
    indexer = await pipeline.startIndexer({ ELASTICSEARCH_URL: elasticsearch.url })
    await produceForm('first')
    await eventually(async () => (await tokenNow()) !== null && !(await isMarked()))
    token = await tokenNow()
  })
  afterEach(() => elasticsearch.close())

  /** Leads the indexer to where a second form can be found and its list still has the old token. */
  const untilFound = async (): Promise<Gate> => {
    const refreshed = new Gate()
    elasticsearch.inject('/_refresh', holdsAnswer(refreshed), { times: 1 })
    await produceForm('second')
    await refreshed.untilReached()
    await eventually(isFound)
    return refreshed
  }

  test('before the bulk request that writes it, and until the token is replaced', async () => {
    const bulk = new Gate()
    elasticsearch.inject('/_bulk', holdsRequest(bulk), { times: 1 })
    await produceForm('second')
    await bulk.untilReached()
    expect(await isMarked()).toBe(true)
    expect(await isFound()).toBe(false)
    bulk.open()
    await eventually(async () => !(await isMarked()))
    expect(await isFound()).toBe(true)
    expect(await tokenNow()).not.toBe(token)
  })

  test('after its indexer was killed there, until the next one has replaced the token', async () => {
    await untilFound()
    await indexer.end('SIGKILL')
    expect([await isMarked(), await tokenNow()]).toEqual([true, token])
    await pipeline.startIndexer()
    await eventually(async () => !(await isMarked()))
    expect(await tokenNow()).not.toBe(token)
  })
})
