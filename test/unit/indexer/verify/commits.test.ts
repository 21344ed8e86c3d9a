import { commitMetadata } from '../../../../indexer/committedOffsets.ts'
import { findGenerations } from '../../../../indexer/generations/generations.ts'
import { expectUnchanged, noteCommits } from '../../../../indexer/verify/commits.ts'
import { NotJudged, type Verification } from '../../../../indexer/verify/verification.ts'
import { aliasOf, documentKinds, type GenerationTag } from '../../../../src/core/stores/indices.ts'
import { testConfig } from '../../../support/config.ts'
import { indexName } from '../../../support/names.ts'

const config = testConfig({ ELASTICSEARCH_URL: 'http://127.0.0.1:9', REDIS_URL: 'redis://127.0.0.1:9' })
const prefix = config.INDEX_PREFIX
const { signal } = new AbortController()
const generations = [1, 2]

type Partition = { low: number; high: number; committed?: number; by?: number }
type World = { serving: number; forms: readonly Partition[] }

/** Indices of two generations, of which one serves. */
async function indicesOf({ serving }: World) {
  const indices = generations.flatMap((generation) =>
    documentKinds.map(async (kind) => {
      const aliases = generation === serving ? { [aliasOf(prefix, kind)]: {} } : {}
      const settings = { index: { uuid: `${kind}-${generation}` } }
      return [await indexName(prefix, kind, generation), { aliases, settings }] as const
    }),
  )
  return Object.fromEntries(await Promise.all(indices))
}

async function tagOf(generation: number): Promise<GenerationTag> {
  const client = {
    indices: { get: () => indicesOf({ serving: 1, forms: [] }) },
  } as unknown as Verification['elasticsearch']
  const found = await findGenerations(client, prefix, { signal, requestTimeout: 1_000 })
  const tag = found.find(({ number }) => number === generation)?.complete?.tag
  if (tag === undefined) throw new Error('the generation is not complete')
  return tag
}

/** What a verification sees of a world, with one topic of several partitions. */
function optionsOf(world: World): Verification {
  const each = <T>(make: (partition: Partition, at: number) => T): T[] => world.forms.map(make)
  const commitsOf = async (group: string) =>
    (
      await Promise.all(
        each(async ({ committed, by = world.serving }, partition) => {
          if (group !== config.CONSUMER_GROUP || committed === undefined) return []
          const metadata = commitMetadata(await tagOf(by), 0n, 0)
          return [{ topic: config.TOPIC_FORMS, partition, position: BigInt(committed), metadata }]
        }),
      )
    ).flat()
  return {
    ...{ config, signal },
    elasticsearch: { indices: { get: () => indicesOf(world) } },
    source: {
      offsetRanges: async () =>
        new Map(
          each(({ low, high }, partition) => [
            `${config.TOPIC_FORMS}/${partition}`,
            { topic: config.TOPIC_FORMS, partition, low: BigInt(low), high: BigInt(high) },
          ]),
        ),
      committedOffsets: commitsOf,
    },
  } as unknown as Verification
}

const world: World = {
  serving: 1,
  forms: [
    { low: 0, high: 10, committed: 8 },
    { low: 0, high: 0 },
  ],
}
const changed = (change: Partial<Partition>): World => ({
  ...world,
  forms: world.forms.map((each, at) => (at === 0 ? { ...each, ...change } : each)),
})
const verdictOn = async (now: World): Promise<string> => {
  const noted = await noteCommits(optionsOf(world))
  return await expectUnchanged(optionsOf(now), noted).then(
    () => 'unchanged',
    (error: unknown) => (error instanceof NotJudged ? error.message : String(error)),
  )
}

test('what indexers have committed for the generation that serves is noted, a partition without records too', async () => {
  const { generation, partitions } = await noteCommits(optionsOf(world))
  expect(generation.number).toBe(1)
  expect([...partitions.values()].map(({ low, committed, high }) => [low, committed, high].map(Number))).toEqual([
    [0, 8, 10],
    [0, 0, 0],
  ])
})

test('commits of another generation do not count', async () => {
  await expect(noteCommits(optionsOf(changed({ by: 2 })))).rejects.toThrow('no indexer has committed')
  await expect(noteCommits(optionsOf({ ...world, serving: 3 }))).rejects.toThrow('no complete generation')
})

test('nothing is judged when the indices, the partitions or the commits were replaced meanwhile', async () => {
  expect(await verdictOn(world)).toBe('unchanged')
  expect(await verdictOn(changed({ high: 20, committed: 15, low: 3 }))).toBe('unchanged')
  expect(await verdictOn({ ...world, serving: 2 })).toContain('generation 2 serves meanwhile')
  expect(await verdictOn({ ...world, forms: [...world.forms, { low: 0, high: 0 }] })).toContain('was added meanwhile')
  expect(await verdictOn({ ...world, forms: world.forms.slice(0, 1) })).toContain('was created anew')
  expect(await verdictOn(changed({ high: 5, committed: 5 }))).toContain('was created anew')
  expect(await verdictOn(changed({ committed: 6 }))).toContain('set back')
  const compacted = optionsOf(changed({ low: 3 }))
  await expect(expectUnchanged(optionsOf(world), await noteCommits(compacted))).rejects.toThrow('was created anew')
})
