import type { Generation } from '../../../../indexer/generations/generation.ts'
import { Generations } from '../../../../indexer/generations/generations.ts'
import { type Stores, WrittenGeneration } from '../../../../indexer/generations/writtenGeneration.ts'
import {
  aliasOf,
  definitionOf,
  documentKinds,
  physicalName,
  writeAliasOf,
} from '../../../../src/core/stores/indices.ts'
import { redisKeys } from '../../../../src/core/stores/redisKeys.ts'
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
const startMs = 5_000

/** Answers each round of publishing with `answer`. */
class Redis {
  generation: string | null = null
  floorMs = -1
  isHeld = false
  answer: string = 'incomplete'
  /** Awaited before a round is answered. */
  beforeAnswer: () => Promise<void> = async () => undefined
  readonly client = {
    hgetall: async () => (this.generation === null ? {} : { generation: this.generation }),
    exists: async () => Number(this.isHeld),
    evalsha: async (_sha: string, keys: number, _key: string, ...args: unknown[]) => {
      await this.beforeAnswer()
      if (keys > 1) return this.answer
      ;[this.generation, this.floorMs] = args as [string, number]
      return 1
    },
  }
  readonly keys = redisKeys(prefix)
  readonly runId = (): string => 'run'
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
  return WrittenGeneration.open(stores, { own: [], rebuilt: [], ...commits }, () => startMs, signal)
}
const commitsOf = ({ tag }: Generation): Commits['own'] => [tag]
const publish = (opened: WrittenGeneration, answer: string) => {
  redis.answer = answer
  const round = { owner: 'owner', everyPartition: ['forms/0'], partitionWatermarks: new Map([['forms/0', 1]]) }
  return opened.publish({ ...round, highestMs: undefined, isWithheld: false })
}
const found = async () => (await generations.find()).map(({ complete }) => complete)
const serving = async (): Promise<number | undefined> => (await found()).find((each) => each?.isServing)?.number
const isWritable = async (): Promise<boolean> => (await found()).every((each) => each?.isWritable)
const create = (number: number): Promise<Generation> => generations.create(number)
const serve = (generation: Generation): Promise<void> => generations.serve(generation)
const close = (generation: Generation): Promise<void> => generations.blockWrites(generation, 'holder')

function removeReadAliases(): void {
  for (const kind of documentKinds) simulated.deleteAlias(aliasOf(prefix, kind))
}

/** A generation that was lost, and the one that is built in its place. */
async function building(): Promise<WrittenGeneration> {
  await open()
  simulated.deleteIndices(`${prefix}-*`)
  return await open()
}

test('an indexer that starts between closing and switch waits while the hold stands, then gives writing back', async () => {
  const { generation } = await open()
  await close(generation)
  redis.isHeld = true
  await expect(open()).rejects.toThrow('a rebuild is about to switch')
  expect(await isWritable()).toBe(false)
  redis.isHeld = false
  expect((await open()).generation.tag).toBe(generation.tag)
  expect(await isWritable()).toBe(true)
})

test('an indexer that writes keeps a closed generation while the hold stands, and opens it again once it has expired', async () => {
  const opened = await open()
  await close(opened.generation)
  redis.isHeld = true
  expect([await opened.isCurrent(), await publish(opened, 'held')]).toEqual([true, 'continue'])
  redis.isHeld = false
  expect([await opened.isCurrent(), await publish(opened, '9')]).toEqual([false, 'retired'])
})

test.each(['6000', 'withheld', 'no append times'])(
  'a generation that is built again serves only once its watermark is published, or there is none: %s',
  async (answer) => {
    const opened = await building()
    expect([opened.generation.number, await serving(), redis.floorMs]).toEqual([3, undefined, startMs])
    for (const each of ['incomplete', 'behind', 'held']) expect(await publish(opened, each)).toBe('continue')
    expect([opened.notServingReason(), await serving()]).toEqual(['generation 3 is being built from Kafka', undefined])
    const round = answer === 'no append times' ? opened.publish(undefined) : publish(opened, answer)
    expect(await round).toBe('continue')
    expect([opened.notServingReason(), await serving()]).toEqual([undefined, 3])
    expect(opened.watermarkMs).toBe(answer === '6000' ? 6_000 : undefined)
  },
)

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

test('an indexer leaves a generation that is lost, also while it is being built, and one that is closed by a rebuild that died', async () => {
  const lost = await open()
  const built = await building()
  expect([await lost.isCurrent(), await built.isCurrent()]).toEqual([false, true])
  await close(built.generation)
  redis.isHeld = true
  expect(await built.isCurrent()).toBe(true)
  redis.isHeld = false
  expect(await built.isCurrent()).toBe(false)
  const again = await open()
  simulated.deleteIndices(`${prefix}-*`)
  expect(await again.isCurrent()).toBe(false)
})

test('a generation that is being built serves when one of its indexers has published its watermark, and not before', async () => {
  const first = await building()
  const second = await open()
  const reason = 'generation 3 is being built from Kafka'
  expect([second.notServingReason(), await serving()]).toEqual([reason, undefined])
  await publish(first, '6000')
  expect([await second.isCurrent(), second.notServingReason()]).toEqual([true, undefined])
})

test('a generation that serves, but was restored from a snapshot, promises nothing that was appended before', async () => {
  await open()
  simulated.deleteIndices(`${prefix}-*`)
  await serve(await create(1))
  const { generation } = await open()
  expect([await serving(), redis.generation, redis.floorMs]).toEqual([1, generation.tag, startMs])
})

test('where Redis has lost everything, commits of the indexers or of its rebuild tell that a serving generation holds the promised', async () => {
  const { generation } = await open()
  const commits = commitsOf(generation)
  const floorOf = async (each: Partial<Commits>): Promise<number> => {
    redis = new Redis()
    await open(each)
    return redis.floorMs
  }
  for (const group of ['own', 'rebuilt']) expect([group, await floorOf({ [group]: commits })]).toEqual([group, -1])
  expect(await floorOf({})).toBe(startMs)
  // A rebuild that has not switched yet may lack what indexers have read since.
  removeReadAliases()
  expect(await floorOf({ rebuilt: commits })).toBe(startMs)
})

test('a Redis that forgot the generation is told again, with the start of the build until a watermark was published', async () => {
  const opened = await building()
  const tell = async (): Promise<unknown> => {
    redis.generation = null
    expect(await publish(opened, 'forgotten')).toBe('continue')
    return [redis.generation, redis.floorMs]
  }
  expect(await tell()).toEqual([opened.generation.tag, startMs])
  await publish(opened, '6000')
  expect(await tell()).toEqual([opened.generation.tag, -1])
})

test('another claim of a partition, and a watermark of another generation, end the round', async () => {
  const opened = await open()
  expect([await publish(opened, 'displaced'), await publish(opened, 'superseded')]).toEqual(['displaced', 'retired'])
})

test('a generation that is retired while a round is published does not serve, and is left for good', async () => {
  const opened = await building()
  const next = await create(4)
  redis.beforeAnswer = async () => {
    await serve(next)
    expect(await opened.isCurrent()).toBe(false)
  }
  expect([await publish(opened, '6000'), await serving()]).toEqual(['retired', 4])
  await serve(opened.generation)
  expect(await publish(opened, '7000')).toBe('retired')
})
