import { createTopics } from '../../src/core/stores/topics.ts'
import type { Engine } from '../../tools/engines/engines.ts'
import { eventually } from '../support/eventually.ts'
import { withAdmin } from '../support/faults.ts'
import { documentedMetrics } from '../support/metrics.ts'
import { type OwnEngines, startDeadlineMs, startOwnEngines } from '../support/ownEngines.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'
import { killPrograms, type Program, untilReady } from '../support/programs.ts'
import { signInSettings } from '../support/signIns.ts'

type Said = {
  readonly status: string
  readonly checks: Readonly<
    Record<string, { readonly ok: boolean; readonly problem?: string; readonly ageSeconds: number }>
  >
}
type Probed = { readonly code: number; readonly said: Said; readonly tookMs: number }

/** How soon whoever asks once a second must hear of it. */
const noticedMs = 10_000
/** A probe that hangs tells nothing. */
const answeredMs = 4_000

let engines: OwnEngines
let pipeline: Pipeline
let processes: Record<'api' | 'indexer' | 'settings', Program>

beforeAll(async () => {
  engines = await startOwnEngines()
  pipeline = await openPipeline()
  await createSmallTopics()
  const indexer = await pipeline.startIndexer()
  const [api, settings] = [await pipeline.startApi(), await pipeline.startSettings(signInSettings)]
  processes = { api, indexer, settings }
}, startDeadlineMs)
afterAll(async () => {
  killPrograms()
  await pipeline?.close()
  await engines?.stop()
}, startDeadlineMs)

/** With one partition each, so that few indexers are enough for one of them to be a spare. */
async function createSmallTopics(): Promise<void> {
  const stamped = [{ name: 'message.timestamp.type', value: 'LogAppendTime' }]
  const topics = ['TOPIC_FORMS', 'TOPIC_SUBMISSIONS', 'TOPIC_ACCOUNT_KEYS'].map((name) => ({
    topic: pipeline.names[name] ?? '',
    numPartitions: 1,
    configEntries: stamped,
  }))
  await withAdmin(pipeline.kafka, (admin) => createTopics(admin, topics))
}

async function probe({ adminUrl }: Program, path: 'livez' | 'readyz'): Promise<Probed> {
  const askedMs = Date.now()
  const answer = await fetch(`${adminUrl}/${path}`)
  return { code: answer.status, said: (await answer.json()) as Said, tookMs: Date.now() - askedMs }
}

const uses = {
  elasticsearch: ['api', 'indexer'],
  kafka: ['indexer', 'settings'],
  redis: ['api', 'indexer', 'settings'],
} as const

/** What `harm` does to an engine is told by those who use it, and by nobody else, until it is back. */
async function expectTold(engine: Engine, harm: () => Promise<void>, heal: () => Promise<void>): Promise<void> {
  const users: readonly string[] = uses[engine.kind]
  await harm()
  try {
    const harmedMs = Date.now()
    for (const [name, program] of Object.entries(processes)) {
      if (!users.includes(name)) continue
      await eventually(async () => {
        const { code, said, tookMs } = await probe(program, 'readyz')
        expect(tookMs).toBeLessThan(answeredMs)
        return code === 503 && said.status === 'not ready' && said.checks[engine.kind]?.ok === false
      })
      expect(Date.now() - harmedMs).toBeLessThan(noticedMs)
    }
    for (const [name, program] of Object.entries(processes)) {
      if (!users.includes(name)) expect((await probe(program, 'readyz')).said.status).toBe('ready')
      expect(await probe(program, 'livez')).toMatchObject({ code: 200, said: { status: 'live' } })
    }
  } finally {
    await heal()
  }
  for (const program of Object.values(processes)) await untilReady(program)
}

test('every check is named with its result and its age', async () => {
  const names = {
    api: ['process', 'elasticsearch', 'redis', 'account keys'],
    indexer: [
      'process',
      'elasticsearch',
      'kafka',
      'redis',
      'account keys',
      'preparation',
      'generation',
      'writer',
      'publisher',
    ],
    settings: ['process', 'kafka', 'producer', 'redis', 'account keys'],
  }
  for (const name of ['api', 'indexer', 'settings'] as const) {
    const { code, said } = await probe(processes[name], 'readyz')
    expect([code, said.status]).toEqual([200, 'ready'])
    expect(Object.keys(said.checks)).toEqual(expect.arrayContaining(names[name]))
    for (const check of Object.values(said.checks)) expect(check).toEqual({ ok: true, ageSeconds: expect.any(Number) })
    for (const { ageSeconds } of Object.values(said.checks)) expect(ageSeconds).toBeLessThan(2)
  }
})

test.each(['elasticsearch', 'kafka', 'redis'] as const)('%s that was killed is told until it is back', async (name) => {
  const engine = engines.engine(name)
  const kill = async (): Promise<void> => {
    engine.kill('SIGKILL')
    await engine.ended()
  }
  await expectTold(engine, kill, () => engine.start())
})

test.each(['elasticsearch', 'kafka', 'redis'] as const)(
  '%s that hangs is told, and no probe hangs with it',
  async (name) => {
    const engine = engines.engine(name)
    await expectTold(
      engine,
      async () => engine.kill('SIGSTOP'),
      async () => engine.kill('SIGCONT'),
    )
  },
)

test('a spare without partitions is ready', async () => {
  const spares = await Promise.all(Array.from({ length: 3 }, () => pipeline.startIndexer()))
  const indexers = [processes.indexer, ...spares]
  await eventually(async () => {
    const lines = await Promise.all(indexers.map(partitionsOf))
    return lines.includes(0) && lines.reduce((sum, each) => sum + each, 0) === 3
  })
  await Promise.all(indexers.map(untilReady))
  for (const spare of spares) await spare.end('SIGTERM')
  await untilReady(processes.indexer)
})

const partitionsOf = async ({ adminUrl }: Program): Promise<number> =>
  [...(await (await fetch(`${adminUrl}/metrics`)).text()).matchAll(/^tidemark_lag_records\{/gm)].length

test('a process tells what docs/metrics.md says, and nothing else', async () => {
  const letters = { api: 'A', indexer: 'I', settings: 'S' } as const
  for (const [name, letter] of Object.entries(letters) as [keyof typeof letters, 'A' | 'I' | 'S'][]) {
    const text = await (await fetch(`${processes[name].adminUrl}/metrics`)).text()
    const told = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, metric, type]) => `${metric} ${type}`)
    const documented = documentedMetrics(letter).map(({ name: metric, type }) => `${metric} ${type}`)
    expect(told.sort()).toEqual(documented.sort())
  }
})
