import { setTimeout as sleep } from 'node:timers/promises'
import { jest } from '@jest/globals'
import { type Engine, engineNames } from '../../tools/engines/engines.ts'
import { checkerTeam, startConsistencyChecker } from '../model/live.ts'
import { appendOnlyState, copyState, readState } from '../support/appendOnlyState.ts'
import { eventually } from '../support/eventually.ts'
import { expectFold } from '../support/expectFold.ts'
import {
  expectDeadLetters,
  producePersistently,
  smallHistory,
  untilCaughtUp,
  untilCommitted,
} from '../support/indexingProgress.ts'
import { useStarted } from '../support/lifecycle.ts'
import { startOwnEngines } from '../support/ownEngines.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Program, probe, untilReady } from '../support/programs.ts'
import { seeded } from '../support/random.ts'
import { type History, type HistoryRecord, stateRecord } from '../support/randomHistory.ts'
import { plaintextIn, signInAt } from '../support/settings.ts'
import { signInSettings } from '../support/signIns.ts'

/** Engines boot in half a minute where others build at the same time. */
jest.setTimeout(300_000)

/** How soon a process must tell of an engine, and how soon a probe must answer. */
const noticedMs = 10_000
const answeredMs = 4_000

/** Who asks which engine. */
const users = {
  elasticsearch: ['api', 'first', 'second'],
  kafka: ['first', 'second', 'settings'],
  redis: ['api', 'first', 'second', 'settings'],
} as const

const engines = useStarted('the engines', () => startOwnEngines())

/** Two indexers, one API and one settings area live through all of it; promises are checked from the first test to the last. */
describe('Engines are killed, frozen and emptied under load', () => {
  const pipeline = usePipeline()
  let first: Program
  const second = useStarted('the second indexer', () => pipeline.startIndexer())
  const history: History = smallHistory(41, 2_000)
  const random = seeded(41)
  const records: HistoryRecord[] = []
  let deletedAtMs = 0

  beforeAll(async () => {
    first = await pipeline.startIndexer()
    await pipeline.createKeys([...history.teams, checkerTeam])
    await produce([...gone(1), ...gone(null)])
  })
  const api = useStarted('the API', () => pipeline.startApi())
  const settings = useStarted('the settings area', () => pipeline.startSettings(signInSettings))
  const checker = useStarted('the checker', async () => {
    await pipeline.untilApplied(api, checkerTeam)
    deletedAtMs = Date.now()
    return await startConsistencyChecker(pipeline, api)
  })

  const produce = async (more: readonly HistoryRecord[]): Promise<void> => {
    records.push(...more)
    await producePersistently(pipeline, more)
  }
  let taken = 0
  const produceMore = (count: number): Promise<void> => {
    taken += count
    return produce(history.records.slice(taken - count, taken))
  }
  /** Of a form and a submission. */
  const gone = (revision: number | null): HistoryRecord[] => [
    stateRecord('forms', 'acme/gone', revision),
    stateRecord('submissions', 'acme/gone', revision),
  ]
  const statusWith = async (key: string): Promise<number> => {
    const answer = await fetch(`${api.url}/api/v1/records?limit=1`, { headers: { authorization: `Bearer ${key}` } })
    await answer.arrayBuffer()
    return answer.status
  }
  const statusFor = (team: string): Promise<number> => statusWith(pipeline.keyOf(team))
  /** Those who use an engine that was just harmed tell of it, the others are ready, and all are alive. */
  const expectTold = async ({ kind }: Engine): Promise<void> => {
    const harmedMs = Date.now()
    const programs = { api, first, second, settings }
    for (const user of users[kind]) {
      await eventually(async () => {
        const { code, body, tookMs } = await probe(programs[user], 'readyz')
        expect(tookMs).toBeLessThan(answeredMs)
        // API and settings area stay ready, and answer that the engine is unavailable.
        const staysReady = user === 'api' || user === 'settings'
        if (staysReady) expect([code, body.status]).toEqual([200, 'ready'])
        return code === (staysReady ? 200 : 503) && body.checks[kind]?.ok === false
      })
      expect(Date.now() - harmedMs).toBeLessThan(noticedMs)
    }
    for (const [user, program] of Object.entries(programs)) {
      if (!(users[kind] as readonly string[]).includes(user))
        expect((await probe(program, 'readyz')).body.status).toBe('ready')
      expect(await probe(program, 'livez')).toMatchObject({ code: 200, body: { status: 'live' } })
    }
  }
  const kill = async (engine: Engine): Promise<void> => {
    engine.kill('SIGKILL')
    await engine.ended()
  }
  /** Until keys are folded again nobody is let in, and nobody is turned away. */
  const untilAnswered = async (expected: number, key: string, alsoBefore: number[] = []): Promise<void> => {
    await eventually(async () => {
      const status = await statusWith(key)
      expect([expected, 503, ...alsoBefore]).toContain(status)
      return status === expected
    })
  }
  const expectAllKept = async (): Promise<void> => {
    await untilCaughtUp(pipeline, api, checkerTeam)
    await expectFold(pipeline, api, { teams: history.teams, records })
    await untilCommitted(pipeline)
    for (const program of [api, first, second, settings]) await untilReady(program)
    expect(checker.problems()).toEqual([])
  }

  test.each([
    { name: 'elasticsearch', signal: 'SIGKILL', answered: 503 },
    { name: 'kafka', signal: 'SIGKILL', answered: 200 },
    { name: 'kafka', signal: 'SIGSTOP', answered: 200 },
    { name: 'redis', signal: 'SIGSTOP', answered: 503 },
  ] as const)(
    '$name is away after a $signal: all processes report it, and nothing is lost',
    async ({ name, signal, answered }) => {
      const engine = engines.engine(name)
      const underLoad = produceMore(200)
      if (signal === 'SIGKILL') await kill(engine)
      else engine.kill(signal)
      const before = checker.checks().answers
      await expectTold(engine)
      expect(await statusFor('acme')).toBe(answered)
      if (answered === 200) await eventually(() => checker.checks().answers > before + 20)
      if (signal === 'SIGKILL') await engine.start()
      else engine.kill('SIGCONT')
      await underLoad
      await untilAnswered(200, pipeline.keyOf('acme'))
      await expectAllKept()
    },
  )

  test('an indexer that is stopped while Elasticsearch is frozen ends in time with exit code 0, and nothing is lost or repeated', async () => {
    const elasticsearch = engines.engine('elasticsearch')
    await produceMore(200)
    elasticsearch.kill('SIGSTOP')
    await produceMore(200)
    await expectTold(elasticsearch)
    expect(await statusFor('acme')).toBe(503)
    const askedAtMs = Date.now()
    expect(await first.end('SIGTERM')).toBe(0)
    expect(Date.now() - askedAtMs).toBeLessThan(10_000)
    elasticsearch.kill('SIGCONT')
    first = await pipeline.startIndexer()
    await produceMore(200)
    await expectAllKept()
  })

  test('Redis comes back with an older state: newer keys get no 401, keys revoked since get 401, and no answer is older than its watermark', async () => {
    const redis = engines.engine('redis')
    const state = appendOnlyState(redis.dataFolder)
    const owner = await signInAt(settings.url, { team: 'owners' })
    const plaintext = plaintextIn(await owner.post('/keys', { ...(await owner.hidden()), name: 'n', expires: '' }))
    await untilAnswered(200, plaintext)
    await copyState(state, `${state}.older`)
    const { text } = await owner.get('/keys')
    const id = /\/keys\/(key_[A-Za-z0-9_-]+)\/revoke/.exec(text)?.[1] ?? ''
    expect((await owner.post(`/keys/${id}/revoke`, { csrf: (await owner.hidden()).csrf })).status).toBe(303)
    expect(await statusWith(plaintext)).toBe(401)
    await pipeline.createKeys(['late'])
    await untilAnswered(200, pipeline.keyOf('late'), [401])
    expect(await readState(redis.dataFolder)).toContain(id)
    expect(await readState(redis.dataFolder)).not.toContain(plaintext.slice(13))
    const underLoad = produceMore(200)
    await kill(redis)
    await copyState(`${state}.older`, state)
    await redis.start()
    await untilAnswered(200, pipeline.keyOf('late'))
    await untilAnswered(401, plaintext)
    await underLoad
    await expectAllKept()
  })

  test('all engines are killed at once and restarted in any order', async () => {
    await produceMore(200)
    const underLoad = produceMore(200)
    for (const name of engineNames) engines.engine(name).kill('SIGKILL')
    for (const name of random.shuffled(engineNames)) await engines.engine(name).start()
    await underLoad
    await untilAnswered(200, pipeline.keyOf('acme'))
    await expectAllKept()
  })

  test('a deleted entity stays deleted when older records come more than a minute later, and after a restart', async () => {
    // Elasticsearch forgets the version of a deleted document after 60 s of its own clock, which nothing but time moves.
    const forgottenAtMs = deletedAtMs + 61_000
    await sleep(Math.max(0, forgottenAtMs - Date.now()))
    await produce([...gone(2), ...gone(1)])
    await expectAllKept()
    for (const path of ['/api/v1/forms/gone', '/api/v1/records/gone'])
      expect((await pipeline.get(api, 'acme', path)).status).toBe(404)
    await expectDeadLetters(pipeline, records)
    expect(Math.min(...Object.values(checker.checks()))).toBeGreaterThan(50)
  })
})
