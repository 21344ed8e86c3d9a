import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Engine, type Engines, startEngines } from '../../engines/engines.ts'
import { eventually } from '../support/eventually.ts'
import { expectFold } from '../support/expectFold.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'
import { killPrograms, type Program } from '../support/programs.ts'
import { randomWorld, type World } from '../support/randomWorld.ts'

const teams = ['acme', 'b.team', 'c_team:1', 'D-4', 'acme2']
const startDeadlineMs = 180_000

/** Engines of its own, which other tests do not miss; one indexer and one API live through all of it. */
describe('An engine is lost under load and comes back', () => {
  let folder: string
  let engines: Engines
  let pipeline: Pipeline
  let indexer: Program
  let api: Program
  const world: World = { ...randomWorld(7, 4_000), teams }
  let produced = 0

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tidemark-fault-'))
    engines = await startEngines({
      folder,
      distributions: 'var/engines',
      clean: true,
      quick: true,
      given: {},
      report: () => undefined,
      signal: AbortSignal.timeout(startDeadlineMs),
    })
    Object.assign(process.env, engines.urls)
    pipeline = await openPipeline()
    indexer = await pipeline.startIndexer()
    api = await pipeline.startApi()
    await pipeline.createKeys(teams)
  }, startDeadlineMs)

  afterAll(async () => {
    killPrograms()
    await pipeline.close()
    await engines.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const engine = (name: 'elasticsearch' | 'kafka' | 'redis'): Engine => {
    const found = engines[name]
    if (found === undefined) throw new Error(`${name} was not started`)
    return found
  }
  const produceMore = async (count: number): Promise<void> => {
    await pipeline.produceWorld(world.records.slice(produced, produced + count))
    produced += count
  }
  const expectWhole = async (): Promise<void> => {
    await pipeline.untilApplied(api, 'acme')
    await expectFold(pipeline, api, { teams, records: world.records.slice(0, produced) })
    expect((await fetch(`${indexer.adminUrl}/readyz`)).status).toBe(200)
  }
  const untilUnready = (reason: RegExp): Promise<void> =>
    eventually(async () => {
      const answer = await fetch(`${indexer.adminUrl}/readyz`)
      return answer.status === 503 && reason.test(await answer.text())
    })
  const statusOfList = async (): Promise<number> => (await pipeline.get(api, 'acme', '/api/v1/records')).status

  test('Elasticsearch is killed: requests are told 503, the indexer says why it waits, and nothing is missing after', async () => {
    await produceMore(500)
    engine('elasticsearch').kill('SIGKILL')
    await produceMore(500)
    await untilUnready(/ECONNREFUSED|socket|ConnectionError/i)
    expect(await statusOfList()).toBe(503)
    await engine('elasticsearch').start()
    await expectWhole()
  })

  test('Elasticsearch is frozen and wakes up: nothing is missing or doubled', async () => {
    await produceMore(500)
    engine('elasticsearch').kill('SIGSTOP')
    await produceMore(500)
    expect(await statusOfList()).toBe(503)
    engine('elasticsearch').kill('SIGCONT')
    await expectWhole()
  })

  test('Kafka is killed: the indexer reads on by itself once it is back', async () => {
    engine('kafka').kill('SIGKILL')
    await untilUnready(/./)
    expect(await statusOfList()).toBe(200)
    await engine('kafka').start()
    await produceMore(1_000)
    await expectWhole()
  })

  test('Redis is killed: keys are neither good nor bad until all of them are folded again', async () => {
    await produceMore(500)
    engine('redis').kill('SIGKILL')
    await produceMore(500)
    expect(await statusOfList()).toBe(503)
    await engine('redis').start()
    await eventually(async () => (await statusOfList()) === 200)
    await expectWhole()
  })
})
