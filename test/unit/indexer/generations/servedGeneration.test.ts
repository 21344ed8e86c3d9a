import type { CommittedOffset } from '../../../../indexer/committedOffsets.ts'
import { blockWrites } from '../../../../indexer/generations/aliases.ts'
import { findGenerations, type Generation } from '../../../../indexer/generations/generations.ts'
import { ServedGeneration, type Stores } from '../../../../indexer/generations/servedGeneration.ts'
import { aliasOf, documentKinds, writeAliasOf } from '../../../../src/core/stores/indices.ts'
import { redisKeys } from '../../../../src/core/stores/redisKeys.ts'
import { testConfig } from '../../../support/config.ts'

const config = testConfig({ ELASTICSEARCH_URL: 'http://127.0.0.1:9', REDIS_URL: 'redis://127.0.0.1:9' })
const prefix = config.INDEX_PREFIX
const { signal } = new AbortController()
const options = { signal, requestTimeout: 1_000 }
const startMs = 5_000

type Index = { readonly uuid: string; readonly aliases: Set<string>; isBlocked: boolean }
type Action = Record<'add' | 'remove', { index: string; alias: string } | undefined>

/** Indices, aliases and blocks; no request fails. */
class Elasticsearch {
  readonly all = new Map<string, Index>()
  /** Awaited before aliases change. */
  beforeAliases: () => Promise<void> = async () => undefined

  readonly indices = {
    create: async ({ index, aliases }: { index: string; aliases: object }): Promise<void> => {
      this.all.set(index, {
        uuid: `${index}-${this.all.size}`,
        aliases: new Set(Object.keys(aliases)),
        isBlocked: false,
      })
    },
    get: async () => this.#described(),
    getAlias: async () => this.#described(),
    updateAliases: async ({ actions }: { actions: readonly Action[] }): Promise<void> => {
      await this.beforeAliases()
      for (const { add, remove } of actions) {
        if (add !== undefined) this.all.get(add.index)?.aliases.add(add.alias)
        if (remove !== undefined) this.all.get(remove.index)?.aliases.delete(remove.alias)
      }
    },
    addBlock: async ({ index }: { index: string }) => this.#block([index], true),
    putSettings: async ({ index }: { index: string[] }) => this.#block(index, false),
  }

  #block(names: readonly string[], isBlocked: boolean): void {
    for (const name of names) Object.assign(this.all.get(name) ?? {}, { isBlocked })
  }

  #described(): object {
    return Object.fromEntries(
      [...this.all].map(([name, { uuid, aliases, isBlocked }]) => [
        name,
        {
          aliases: Object.fromEntries([...aliases].map((alias) => [alias, {}])),
          settings: { index: { uuid, blocks: { write: String(isBlocked) } } },
        },
      ]),
    )
  }
}

/** Answers each round of publishing with `answer`. */
class Redis {
  generation: string | null = null
  floorMs = -1
  isHeld = false
  answer: string = 'incomplete'
  readonly client = {
    hget: async () => this.generation,
    exists: async () => Number(this.isHeld),
    evalsha: async (_sha: string, keys: number, _key: string, ...args: unknown[]) => {
      if (keys > 1) return this.answer
      ;[this.generation, this.floorMs] = args as [string, number]
      return 1
    },
  }
  readonly runId = (): string => 'run'
}

let [elasticsearch, redis] = [new Elasticsearch(), new Redis()]
beforeEach(() => {
  ;[elasticsearch, redis] = [new Elasticsearch(), new Redis()]
})

type Commits = Parameters<typeof ServedGeneration.open>[1]
const open = (commits: Partial<Commits> = {}): Promise<ServedGeneration> => {
  const stores = { config, elasticsearch, redis, keys: redisKeys(prefix) } as unknown as Stores
  return ServedGeneration.open(stores, { own: [], rebuilt: [], ...commits }, () => startMs, signal)
}
const commitsOf = ({ tag }: Generation): Commits['own'] => [{ generation: tag }] as unknown as CommittedOffset[]
const publish = (served: ServedGeneration, answer: string) => {
  redis.answer = answer
  return served.publish('owner', ['forms/0'], new Map([['forms/0', 1]]), undefined, false)
}
const client = (): Stores['elasticsearch'] => elasticsearch as unknown as Stores['elasticsearch']
const serving = async (): Promise<number | undefined> =>
  (await findGenerations(client(), prefix, options)).find(({ complete }) => complete?.isServing)?.number
const close = (generation: Generation): Promise<void> => blockWrites(client(), generation, 'holder', options)
const isWritable = (): boolean =>
  [...elasticsearch.all].every(
    ([name, { aliases, isBlocked }]) => aliases.has(writeAliasOf(name as never)) && !isBlocked,
  )

function removeReadAliases(): void {
  for (const { aliases } of elasticsearch.all.values())
    for (const kind of documentKinds) aliases.delete(aliasOf(prefix, kind))
}

/** A generation that was lost, and the one that is built in its place. */
async function building(): Promise<ServedGeneration> {
  await open()
  elasticsearch.all.clear()
  return await open()
}

test('the first generation of all serves at once, and watermarks count for it', async () => {
  const { generation } = await open()
  expect([generation.number, await serving(), redis.generation, redis.floorMs]).toEqual([1, 1, generation.tag, -1])
})

test('an indexer that starts between closing and switch waits while the hold stands, then gives writing back', async () => {
  const { generation } = await open()
  await close(generation)
  redis.isHeld = true
  await expect(open()).rejects.toThrow('a rebuild is about to switch')
  expect(isWritable()).toBe(false)
  redis.isHeld = false
  expect((await open()).generation.tag).toBe(generation.tag)
  expect(isWritable()).toBe(true)
})

test('an indexer that writes keeps a closed generation while the hold stands, and opens it again once it has expired', async () => {
  const served = await open()
  await close(served.generation)
  redis.isHeld = true
  expect([await served.isCurrent(), await publish(served, 'held')]).toEqual([true, 'continue'])
  redis.isHeld = false
  expect([await served.isCurrent(), await publish(served, '9')]).toEqual([false, 'retired'])
})

test('a generation that is built again serves only once its watermark is published', async () => {
  const served = await building()
  expect([served.generation.number, await serving(), redis.floorMs]).toEqual([2, undefined, startMs])
  for (const answer of ['incomplete', 'behind', 'held']) expect(await publish(served, answer)).toBe('continue')
  expect([served.notServingReason(), await serving()]).toEqual(['generation 2 is being built from Kafka', undefined])
  expect(await publish(served, '6000')).toBe('continue')
  expect([served.notServingReason(), await serving(), served.watermarkMs]).toEqual([undefined, 2, 6_000])
})

test('a generation that is being built does not serve because another indexer begins to write it', async () => {
  await building()
  const second = await open()
  expect([second.generation.number, second.notServingReason(), await serving()]).toEqual([
    2,
    'generation 2 is being built from Kafka',
    undefined,
  ])
})

test('a generation that serves, but was restored from a snapshot, promises nothing that was appended before', async () => {
  await open()
  for (const [name, index] of elasticsearch.all)
    elasticsearch.all.set(name, { ...index, uuid: `${index.uuid}-restored` })
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
  expect([await floorOf({ own: commits }), await floorOf({ rebuilt: commits }), await floorOf({})]).toEqual([
    -1,
    -1,
    startMs,
  ])
  // A rebuild that has not switched yet may lack what indexers have read since.
  removeReadAliases()
  expect(await floorOf({ rebuilt: commits })).toBe(startMs)
})

test('a Redis that forgot the generation is told again, with the start of the build until a watermark was published', async () => {
  const served = await building()
  const tell = async (): Promise<unknown> => {
    redis.generation = null
    expect(await publish(served, 'forgotten')).toBe('continue')
    return [redis.generation, redis.floorMs]
  }
  expect(await tell()).toEqual([served.generation.tag, startMs])
  await publish(served, '6000')
  expect(await tell()).toEqual([served.generation.tag, -1])
})

test('another claim of a partition, and a watermark of another generation, end the round', async () => {
  const served = await open()
  expect([await publish(served, 'displaced'), await publish(served, 'superseded')]).toEqual(['displaced', 'retired'])
})

test('read aliases that were removed are restored by opening it again', async () => {
  const served = await open()
  removeReadAliases()
  expect([await served.isCurrent(), await serving()]).toEqual([false, undefined])
  expect([(await open()).generation.tag, await serving()]).toEqual([served.generation.tag, 1])
})

test('a generation that is lost while it begins to serve is not written again, though the round ends later', async () => {
  const served = await building()
  const kept = new Map(elasticsearch.all)
  elasticsearch.beforeAliases = async () => {
    elasticsearch.all.clear()
    expect(await served.isCurrent()).toBe(false)
    for (const [name, index] of kept) elasticsearch.all.set(name, index)
  }
  await publish(served, '6000')
  elasticsearch.beforeAliases = async () => undefined
  expect(await publish(served, '7000')).toBe('retired')
})
