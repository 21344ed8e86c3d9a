import type { Generation } from '../../../../indexer/generations/generation.ts'
import { Generations } from '../../../../indexer/generations/generations.ts'
import { type Stores, WrittenGeneration } from '../../../../indexer/generations/writtenGeneration.ts'
import {
  aliasOf,
  definitionOf,
  documentKinds,
  type GenerationTag,
  physicalName,
  writeAliasOf,
} from '../../../../src/core/elasticsearch/indices.ts'
import { failed, passed } from '../../../../src/core/monitoring/health.ts'
import { redisKeys } from '../../../../src/core/redis/redisKeys.ts'
import type { RoundReply } from '../../../../src/core/redis/visiblePositions.ts'
import {
  type Clients,
  SimulatedElasticsearch,
  simulatedClients,
} from '../../../simulation/engines/elasticsearch/simulatedElasticsearch.ts'
import { localHost, localNetwork } from '../../../simulation/network.ts'
import { testConfig } from '../../../support/config.ts'

const config = testConfig({ ELASTICSEARCH_URL: 'http://127.0.0.1:9', REDIS_URL: 'redis://127.0.0.1:9' })
const prefix = config.INDEX_PREFIX
const { signal } = new AbortController()

/** Keeps which generation serves. */
class Redis {
  generation: string | null = null
  readonly client = {
    get: async () => this.generation,
    evalsha: async (_sha: string, _keys: number, _key: string, generation: string, instead: string) => {
      if (![null, generation, instead].includes(this.generation)) return 0
      this.generation = generation
      return 1
    },
  }
  readonly keys = redisKeys(prefix)
}

let simulated: SimulatedElasticsearch
let elasticsearch: Clients['elasticsearch']
let generations: Generations
let redis: Redis
beforeEach(() => {
  simulated = new SimulatedElasticsearch(localHost())
  elasticsearch = simulatedClients(simulated, localNetwork).elasticsearch
  generations = new Generations(elasticsearch, config, { signal, requestTimeout: 1_000 })
  redis = new Redis()
})

type Commits = Parameters<typeof WrittenGeneration.open>[1]
const open = (commits: Partial<Commits> = {}): Promise<WrittenGeneration> => {
  const stores = { config, elasticsearch, redis } as unknown as Stores
  return WrittenGeneration.open(stores, { own: [], ofRebuild: [], ...commits }, signal)
}
const commitsOf = ({ tag }: Generation): Commits['own'] => [tag]
/** A round of publishing, while Redis names this generation, or as it names now. */
const publish = (opened: WrittenGeneration, outcome: RoundReply['outcome'], watermarkMs?: number) =>
  opened.afterRound({ outcome, serving: (redis.generation ?? undefined) as GenerationTag | undefined, watermarkMs })
const found = async () => (await generations.find()).map(({ complete }) => complete)
const serving = async (): Promise<number | undefined> => (await found()).find((each) => each?.isServing)?.number
const haveWriteAliases = async (): Promise<boolean> => (await found()).every((each) => each?.hasWriteAliases)
const create = (number: number): Promise<Generation> => generations.create(number)
const serve = (generation: Generation): Promise<void> => generations.serve(generation)

function removeReadAliases(): void {
  for (const kind of documentKinds) simulated.deleteAlias(aliasOf(prefix, kind))
}

function removeWriteAliases({ indices }: Generation): void {
  for (const index of Object.values(indices)) simulated.deleteAlias(writeAliasOf(index))
}

/** A generation that was lost, and the one that is built in its place. */
async function building(): Promise<WrittenGeneration> {
  await open()
  simulated.deleteIndices(`${prefix}-*`)
  return await open()
}

test('an indexer completes, once, the switch of a rebuild that died before it moved the aliases', async () => {
  const opened = await open()
  const next = await generations.fill(2, 'killed')
  redis.generation = next.tag
  expect(await publish(opened, 'incomplete')).toBe('retired')
  const [one, other] = await Promise.all([open(), open()])
  expect([one.generation.number, other.generation.number, await serving(), redis.generation]).toEqual([
    ...[2, 2, 2, next.tag],
  ])
  expect((await found()).map((each) => each?.hasWriteAliases)).toEqual([false, true])
})

test('of the generations that Redis and the aliases name, the higher one serves', async () => {
  const first = await open()
  // A rebuild that has not switched.
  const next = await generations.fill(2, 'rebuild')
  expect((await open()).generation.number).toBe(1)
  redis.generation = next.tag
  expect((await open()).generation.number).toBe(2)
  // Redis has fallen back to an older state, or names indices that were deleted.
  for (const older of [first.generation.tag, '4-0123456789abcdef']) {
    redis.generation = older
    expect((await open()).generation.number).toBe(2)
    expect([await serving(), redis.generation]).toEqual([2, next.tag])
  }
})

test('an indexer that was frozen since it read Redis does not undo a switch', async () => {
  const opened = await open()
  redis.generation = null
  const publishing = publish(opened, 'incomplete')
  redis.generation = '2-0123456789abcdef'
  await expect(publishing).rejects.toThrow('another generation has been adopted meanwhile')
  expect(redis.generation).toBe('2-0123456789abcdef')
})

test('an indexer restores removed write aliases', async () => {
  const opened = await open()
  removeWriteAliases(opened.generation)
  expect([await opened.isCurrent(), await haveWriteAliases()]).toEqual([false, false])
  expect((await open()).generation.tag).toBe(opened.generation.tag)
  expect(await haveWriteAliases()).toBe(true)
})

test('a generation that is built again serves only once the positions of all partitions are known', async () => {
  const opened = await building()
  expect([opened.generation.number, await serving(), redis.generation]).toEqual([3, undefined, opened.generation.tag])
  for (const each of ['incomplete', 'locked'] as const) expect(await publish(opened, each)).toBe('continue')
  expect([opened.health(), await serving()]).toEqual([failed('generation 3 is being built from Kafka'), undefined])
  expect(await publish(opened, 'complete', 6_000)).toBe('continue')
  expect([opened.health(), await serving(), opened.watermarkMs]).toEqual([passed, 3, 6_000])
})

test('a generation of another release is neither written nor changed', async () => {
  for (const kind of documentKinds) {
    const index = physicalName(prefix, kind, 99, 1)
    const aliases = { [writeAliasOf(index)]: { is_write_index: true } }
    const { settings, mappings } = definitionOf(kind, true)
    await elasticsearch.indices.create({ index, settings: { ...settings, number_of_shards: 1 }, mappings, aliases })
  }
  await generations.serve({ number: 1 })
  await expect(open()).rejects.toThrow('generation 1 has mappings of another release')
  expect([redis.generation, await serving()]).toEqual([null, 1])
})

test('an indexer stops writing a lost generation, also one that is being built', async () => {
  const lost = await open()
  const built = await building()
  expect([await lost.isCurrent(), await built.isCurrent()]).toEqual([false, true])
  removeWriteAliases(built.generation)
  expect(await built.isCurrent()).toBe(false)
  const again = await open()
  expect([again.generation.tag, await haveWriteAliases()]).toEqual([built.generation.tag, true])
  simulated.deleteIndices(`${prefix}-*`)
  expect(await again.isCurrent()).toBe(false)
})

test('a generation that is being built serves as soon as one of its indexers has switched to it', async () => {
  const first = await building()
  const second = await open()
  const health = failed('generation 3 is being built from Kafka')
  expect([second.health(), await serving()]).toEqual([health, undefined])
  await publish(first, 'complete')
  expect([await second.isCurrent(), second.health()]).toEqual([true, passed])
})

test('serving indices that were restored from a snapshot are another generation, for which nothing is published', async () => {
  const before = await open()
  simulated.deleteIndices(`${prefix}-*`)
  await serve(await create(1))
  const { generation } = await open()
  expect([await serving(), redis.generation]).toEqual([1, generation.tag])
  expect(generation.tag).not.toBe(before.generation.tag)
})

test('after Redis and the read aliases were lost, a generation serves only if commits show that it is complete', async () => {
  const { generation } = await open()
  const commits = commitsOf(generation)
  const servesWith = async (each: Partial<Commits>): Promise<number | undefined> => {
    redis = new Redis()
    removeReadAliases()
    await open(each)
    return await serving()
  }
  expect(await servesWith({})).toBeUndefined()
  // A rebuild that has not switched yet may lack what indexers have read since.
  expect(await servesWith({ ofRebuild: commits })).toBeUndefined()
  expect(await servesWith({ own: commits })).toBe(1)
})

test('an indexer writes the serving generation to Redis again after Redis lost it', async () => {
  const opened = await open()
  redis.generation = null
  expect(await publish(opened, 'incomplete')).toBe('continue')
  expect(redis.generation).toBe(opened.generation.tag)
})

test('an indexer writes the serving generation to Redis again after Redis fell back to an earlier one, and goes on', async () => {
  const former = await open()
  redis.generation = (await generations.fill(2, 'rebuild')).tag
  const opened = await open()
  redis.generation = former.generation.tag
  expect(await publish(opened, 'incomplete')).toBe('continue')
  expect(redis.generation).toBe(opened.generation.tag)
})

test('an indexer that finds another generation in Redis publishes no further round', async () => {
  const opened = await open()
  redis.generation = '9-0123456789abcdef'
  expect(await publish(opened, 'complete')).toBe('retired')
})

test('a generation that is retired during a round does not serve, and its indexer leaves it for good', async () => {
  const opened = await building()
  await serve(await create(4))
  expect(await opened.isCurrent()).toBe(false)
  expect([await publish(opened, 'complete'), await serving()]).toEqual(['retired', 4])
  await serve(opened.generation)
  expect(await publish(opened, 'complete')).toBe('retired')
})
