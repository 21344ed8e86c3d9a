import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from '@elastic/elasticsearch'
import { followChanges } from '../../docs/client/followChanges.ts'
import { eventually } from '../support/eventually.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'
import { killPrograms, type Program, startProgram } from '../support/programs.ts'
import { fold, type Json, randomWorld, type World } from '../support/randomWorld.ts'
import { servedFormSummary, servedSubmissionSummary } from '../support/served.ts'

/** `SKEWED_RECORDS=100000` makes it a long run. */
const records = Number(process.env['SKEWED_RECORDS'] ?? 1_200)
const burst = Math.max(40, records / 200)
/** Long enough for an idle partition to get a watermark from a clock instead of a record. */
const idleMs = 700
const maxAheadMs = 8_000
const pollMs = 100
const timeoutMs = 60_000 + 200 * records

let pipeline: Pipeline
let api: Program
let skewFile: string
const over = new AbortController()
beforeEach(async () => {
  pipeline = await openPipeline()
  skewFile = join(await mkdtemp(join(tmpdir(), 'skew-')), 'skew.json')
})
afterEach(async () => {
  killPrograms()
  await rm(join(skewFile, '..'), { recursive: true })
  await pipeline.close()
})
afterAll(() => over.abort())

const lists = { forms: servedFormSummary, records: servedSubmissionSummary } as const
type List = keyof typeof lists

/** What a client has that knows nothing of the world but what it is told. */
type Follower = {
  readonly team: string
  readonly list: List
  readonly items: Map<string, Json>
  watermarkMs(): number
  /** Whether a watermark was lower than one before it. */
  wentBack(): boolean
  stop(): Promise<void>
}

function follow(team: string, list: List): Follower {
  const source = { baseUrl: `${api.url}/api/v1`, accountKey: pipeline.keyOf(team), list }
  const items = new Map<string, Json>()
  const stop = new AbortController()
  let watermarkMs = 0
  let isBack = false
  const following = followChanges(source, undefined, {
    onItem: (item) => items.set(item.id, item),
    keep: (watermark) => {
      isBack ||= Date.parse(watermark) < watermarkMs
      watermarkMs = Date.parse(watermark)
    },
    pollMs,
    signal: AbortSignal.any([stop.signal, over.signal]),
  })
  return {
    team,
    list,
    items,
    watermarkMs: () => watermarkMs,
    wentBack: () => isBack,
    stop: async () => {
      stop.abort()
      await following
    },
  }
}

/** What a client must hold: everything that is there, as it is. Of what was deleted nobody tells it. */
function expectTruth({ team, list, items }: Follower, world: World): void {
  const topic = list === 'forms' ? 'forms' : 'submissions'
  const truth = [...fold(world.records, topic)].filter(([key]) => key.startsWith(`${team}/`))
  const deleted = new Set(
    world.records.filter((record) => record.topic === topic && record.value === null).map(({ key }) => key.toString()),
  )
  const held = [...items].filter(([id]) => !deleted.has(`${team}/${id}`))
  expect(new Map(held)).toEqual(new Map(truth.map(([, entity]) => [entity.id, lists[list](entity)])))
}

const setClocks = (ownMs: number, redisMs = ownMs): Promise<void> =>
  writeFile(skewFile, JSON.stringify({ ownMs, redisMs }))

const startIndexer = (): Promise<Program> =>
  pipeline.startIndexer({
    SKEW_FILE: skewFile,
    NODE_OPTIONS: `--import=${import.meta.dirname}/../support/skewedClock.ts`,
  })

/** Appends the world with pauses; `disturb` is called after each burst. */
async function appendAndFollow(world: World, disturb: (burst: number) => Promise<void>): Promise<void> {
  await pipeline.createKeys(world.teams)
  api = await pipeline.startApi()
  const followers = world.teams.flatMap((team) => [follow(team, 'forms'), follow(team, 'records')])
  await eventually(() => followers.every(({ watermarkMs }) => watermarkMs() > 0))
  for (let at = 0; at < world.records.length; at += burst) {
    await pipeline.produceWorld(world.records.slice(at, at + burst))
    await disturb(at / burst)
    await sleep(idleMs)
  }
  await setClocks(0)
  await pipeline.produce('forms', [{ key: 'acme/last', value: null }])
  // Watermarks may be as far ahead as the clocks were: a later one covers everything.
  const coveredMs = Date.now() + maxAheadMs
  await eventually(() => followers.every(({ watermarkMs }) => watermarkMs() > coveredMs))
  for (const follower of followers) {
    await follower.stop()
    expectTruth(follower, world)
    expect(follower.wentBack()).toBe(false)
  }
}

describe('Clients that poll by watermark miss nothing, and see no watermark go back,', () => {
  test.each([
    ['5 s ahead of the broker', 5_000],
    ['5 s behind the broker', -5_000],
  ])(
    'while the clocks of the indexer and of Redis are %s',
    async (_, skewMs) => {
      await setClocks(skewMs)
      await startIndexer()
      await appendAndFollow(randomWorld(701, records), async () => undefined)
    },
    timeoutMs,
  )

  test(
    'while clocks step and indexers are killed, a rebuild runs, and the indices are lost',
    async () => {
      const elasticsearch = new Client({ node: process.env['ELASTICSEARCH_URL'] ?? '' })
      await setClocks(5_000)
      let indexers = [await startIndexer(), await startIndexer()]
      const steps = [5_000, -3_000, 0, maxAheadMs, 2_000]
      const killOne = async (): Promise<void> => {
        const [killed, ...others] = indexers
        await killed?.end('SIGKILL')
        indexers = [...others, await startIndexer()]
      }
      const rebuild = async (generation: number): Promise<void> => {
        const program = await startProgram('indexer/generations/rebuildCommand.ts', pipeline.names)
        expect([await program.ended(), program.log()]).toEqual([
          0,
          expect.stringContaining(`generation ${generation} serves`),
        ])
      }
      const loseIndices = async (): Promise<void> => {
        const index = Object.keys(await elasticsearch.indices.get({ index: `${pipeline.names['INDEX_PREFIX']}-*` }))
        await elasticsearch.indices.delete({ index })
      }
      let disturbing = Promise.resolve()
      await appendAndFollow(randomWorld(702, records), async (at) => {
        await setClocks(steps[at % steps.length] ?? 0)
        if (at === 4)
          disturbing = killOne()
            .then(() => rebuild(2))
            .then(loseIndices)
            .then(killOne)
      })
      await disturbing
      await elasticsearch.close()
    },
    timeoutMs,
  )
})
