import { copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { jest } from '@jest/globals'
import { Redis } from 'ioredis'
import { engineNames } from '../../tools/engines/engines.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { expectFold } from '../support/expectFold.ts'
import { expectDeadLetters, producePersistently, smallWorld, untilCaughtUp, untilCommitted } from '../support/faults.ts'
import { type OwnEngines, startDeadlineMs, startOwnEngines } from '../support/ownEngines.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'
import { killPrograms, type Program } from '../support/programs.ts'
import { seeded } from '../support/random.ts'
import type { World, WorldRecord } from '../support/randomWorld.ts'
import { startTrickle, type Trickle, witnessTeam } from '../support/trickle.ts'
import { type TidemarkWatch, watchWatermark } from '../support/watchWatermark.ts'

/** Engines boot in half a minute where others build at the same time. */
jest.setTimeout(300_000)

/** Two indexers and one API live through all of it; promises are watched from the first test to the last. */
describe('Engines fall silent, forget, and go together, under load', () => {
  let engines: OwnEngines
  let pipeline: Pipeline
  let first: Program
  let second: Program
  let api: Program
  let watch: TidemarkWatch
  let witness: Trickle
  const world: World = smallWorld(41, 3_300)
  const random = seeded(41)
  const records: WorldRecord[] = []
  let deletedAtMs = 0

  beforeAll(async () => {
    engines = await startOwnEngines()
    pipeline = await openPipeline()
    first = await pipeline.startIndexer()
    second = await pipeline.startIndexer()
    await pipeline.createKeys([...world.teams, witnessTeam])
    await produce([form(1), submission(1), form(null), submission(null)])
    api = await pipeline.startApi()
    await pipeline.untilApplied(api, witnessTeam)
    deletedAtMs = Date.now()
    watch = watchWatermark(pipeline, api, witnessTeam)
    witness = await startTrickle(pipeline, api)
  }, startDeadlineMs)

  afterAll(async () => {
    await watch.stop()
    await witness.stop()
    killPrograms()
    await pipeline.close()
    await engines.stop()
  })

  const produce = async (more: readonly WorldRecord[]): Promise<void> => {
    records.push(...more)
    await producePersistently(pipeline, more)
  }
  let taken = 0
  const produceMore = (count: number): Promise<void> => {
    taken += count
    return produce(world.records.slice(taken - count, taken))
  }
  const form = (revision: number | null): WorldRecord => ({
    topic: 'forms',
    key: Buffer.from('acme/gone'),
    value: revision === null ? null : Buffer.from(JSON.stringify({ revision, form: formEntity({ id: 'gone' }) })),
    isPoison: false,
  })
  const submission = (revision: number | null): WorldRecord => {
    const entity = { revision, submission: submissionEntity({ id: 'gone' }) }
    return {
      ...form(null),
      topic: 'submissions',
      value: revision === null ? null : Buffer.from(JSON.stringify(entity)),
    }
  }
  const statusFor = async (team: string): Promise<number> =>
    (await pipeline.get(api, team, '/api/v1/records?limit=1')).status
  const unready = async (program: Program): Promise<string> => {
    const answer = await fetch(`${program.adminUrl}/readyz`)
    const text = await answer.text()
    return answer.status === 503 ? text : ''
  }
  /** Until keys are folded again nobody is let in, and nobody is turned away. */
  const untilLetIn = async (team: string): Promise<void> => {
    await eventually(async () => {
      const status = await statusFor(team)
      expect([200, 503]).toContain(status)
      return status === 200
    })
  }
  const expectAllKept = async (): Promise<void> => {
    await untilCaughtUp(pipeline, api, witnessTeam)
    await expectFold(pipeline, api, { teams: world.teams, records })
    await untilCommitted(pipeline)
    await eventually(async () => (await unready(first)) === '' && (await unready(second)) === '')
    expect([watch.problems(), witness.problems()]).toEqual([[], []])
  }

  test('Elasticsearch is killed and comes back: requests and indexers say so meanwhile, and nothing is missing after', async () => {
    const underLoad = produceMore(200)
    engines.engine('elasticsearch').kill('SIGKILL')
    await underLoad
    const away = /ECONNREFUSED|socket|ConnectionError/i
    await eventually(async () => away.test(await unready(first)) && away.test(await unready(second)))
    expect(await statusFor('acme')).toBe(503)
    await engines.engine('elasticsearch').start()
    await expectAllKept()
  })

  test('Elasticsearch is frozen and wakes up: nothing is missing or doubled', async () => {
    engines.engine('elasticsearch').kill('SIGSTOP')
    await produceMore(200)
    expect(await statusFor('acme')).toBe(503)
    engines.engine('elasticsearch').kill('SIGCONT')
    await expectAllKept()
  })

  test('Kafka is killed and comes back: both indexers read on', async () => {
    await produceMore(200)
    const underLoad = produceMore(200)
    engines.engine('kafka').kill('SIGKILL')
    await eventually(async () => (await unready(first)) !== '' && (await unready(second)) !== '')
    await engines.engine('kafka').start()
    await underLoad
    await produceMore(200)
    await expectAllKept()
  })

  test('Kafka falls silent and wakes up: requests are answered meanwhile, and nothing is missing after', async () => {
    const underLoad = produceMore(200)
    engines.engine('kafka').kill('SIGSTOP')
    expect(await statusFor('acme')).toBe(200)
    const before = witness.looks().answers
    await eventually(() => witness.looks().answers > before + 20)
    engines.engine('kafka').kill('SIGCONT')
    await underLoad
    await expectAllKept()
  })

  test('Redis falls silent and wakes up: requests and indexers say so meanwhile, and nothing is missing after', async () => {
    const underLoad = produceMore(200)
    engines.engine('redis').kill('SIGSTOP')
    expect(await statusFor('acme')).toBe(503)
    await eventually(async () => (await unready(first)) !== '' && (await unready(second)) !== '')
    engines.engine('redis').kill('SIGCONT')
    await underLoad
    await untilLetIn('acme')
    await expectAllKept()
  })

  test('Redis forgets everything: nobody is turned away, and the watermark does not go back', async () => {
    const underLoad = produceMore(200)
    const redis = new Redis(process.env['REDIS_URL'] ?? '')
    await redis.flushall()
    redis.disconnect()
    await untilLetIn('acme')
    await underLoad
    await untilLetIn('acme')
    await expectAllKept()
  })

  test('Redis comes back with an older state: a key it does not know any more is not turned away, nor does the watermark go back', async () => {
    const { dataFolder } = engines.engine('redis')
    const state = join(dataFolder, 'appendonly.aof')
    await copyFile(state, `${state}.older`)
    await pipeline.createKeys(['late'])
    await produceMore(200)
    await eventually(async () => (await statusFor('late')) === 200)
    const underLoad = produceMore(200)
    engines.engine('redis').kill('SIGKILL')
    await engines.engine('redis').ended()
    await copyFile(`${state}.older`, state)
    await engines.engine('redis').start()
    await untilLetIn('late')
    await underLoad
    await expectAllKept()
  })

  test('Redis comes back empty: everything is there again', async () => {
    const underLoad = produceMore(200)
    const { dataFolder } = engines.engine('redis')
    engines.engine('redis').kill('SIGKILL')
    await engines.engine('redis').ended()
    await rm(join(dataFolder, 'appendonly.aof'))
    await engines.engine('redis').start()
    await untilLetIn('acme')
    await underLoad
    await expectAllKept()
  })

  test('an indexer is stopped while Elasticsearch is frozen: it ends in time and in order, and nothing is missing after', async () => {
    await produceMore(200)
    engines.engine('elasticsearch').kill('SIGSTOP')
    await produceMore(200)
    const askedAtMs = Date.now()
    expect(await first.end('SIGTERM')).toBe(0)
    expect(Date.now() - askedAtMs).toBeLessThan(10_000)
    engines.engine('elasticsearch').kill('SIGCONT')
    first = await pipeline.startIndexer()
    await produceMore(200)
    await expectAllKept()
  })

  test('all engines are killed at once and come back in any order', async () => {
    await produceMore(200)
    const underLoad = produceMore(200)
    for (const name of engineNames) engines.engine(name).kill('SIGKILL')
    for (const name of random.shuffled(engineNames)) await engines.engine(name).start()
    await underLoad
    await untilLetIn('acme')
    await expectAllKept()
  })

  test('what was deleted stays deleted, when older records come more than a minute later and after a restart', async () => {
    // Elasticsearch forgets the version of a deleted document after 60 s of its own clock, which nothing but time moves.
    const forgottenAtMs = deletedAtMs + 61_000
    await sleep(Math.max(0, forgottenAtMs - Date.now()))
    await produce([form(2), submission(2), form(1), submission(1)])
    await expectAllKept()
    for (const path of ['/api/v1/forms/gone', '/api/v1/records/gone'])
      expect((await pipeline.get(api, 'acme', path)).status).toBe(404)
    await expectDeadLetters(pipeline, records)
    expect(Math.min(...Object.values(witness.looks()))).toBeGreaterThan(50)
  })
})
