import { setTimeout as sleep } from 'node:timers/promises'
import { followChanges } from '../../docs/client/followChanges.ts'
import { type Balancer, startBalancer } from '../support/balancer.ts'
import { eventually } from '../support/eventually.ts'
import { type Program, startProgram } from '../support/programs.ts'
import { fold, type History, type Json, randomHistory } from '../support/randomHistory.ts'
import { servedFormSummary, servedSubmissionSummary } from '../support/served.ts'
import { usePipeline } from '../support/usePipeline.ts'

const seeds = Array.from({ length: Number(process.env['POLLING_SEEDS'] ?? 1) }, (_, at) => 301 + at)
const records = 1_500
const burst = 100
const pollMs = 100
const timeoutMs = 240_000

const pipeline = usePipeline({ forEachTest: true })
let balancer: Balancer
const over = new AbortController()
beforeEach(async () => {
  balancer = await startBalancer()
})
afterEach(async () => {
  await balancer.close()
})
afterAll(() => over.abort())

const lists = { forms: servedFormSummary, records: servedSubmissionSummary } as const
type List = keyof typeof lists

/** What a client has that knows nothing of the history but what it is told. */
type Follower = {
  readonly team: string
  readonly list: List
  readonly items: Map<string, Json>
  watermarkMs(): number
  stop(): Promise<void>
}

function follow(team: string, list: List): Follower {
  const source = { baseUrl: `${balancer.url}/api/v1`, accountKey: pipeline.keyOf(team), list }
  const items = new Map<string, Json>()
  const stop = new AbortController()
  let watermarkMs = 0
  const following = followChanges(source, undefined, {
    onItem: (item) => items.set(item.id, item),
    keep: (watermark) => {
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
    stop: async () => {
      stop.abort()
      await following
    },
  }
}

/** What a client must hold: everything that is there, as it is. Of what was deleted nobody tells it. */
function expectTruth({ team, list, items }: Follower, history: History): void {
  const topic = list === 'forms' ? 'forms' : 'submissions'
  const truth = [...fold(history.records, topic)].filter(([key]) => key.startsWith(`${team}/`))
  const deleted = new Set(
    history.records
      .filter((record) => record.topic === topic && record.value === null)
      .map(({ key }) => key.toString()),
  )
  const held = [...items].filter(([id]) => !deleted.has(`${team}/${id}`))
  expect(new Map(held)).toEqual(new Map(truth.map(([, entity]) => [entity.id, lists[list](entity)])))
}

test.each(seeds)(
  'clients that poll by watermark through bursts, kills, restarts and a rebuild end with exactly what is stored, seed %i',
  async (seed) => {
    const history = randomHistory(seed, records)
    let indexers = [await pipeline.startIndexer(), await pipeline.startIndexer()]
    await pipeline.createKeys(history.teams)
    let apis: readonly Program[] = [await pipeline.startApi(), await pipeline.startApi()]
    const lead = (programs: readonly Program[]): void => {
      apis = programs
      balancer.leadTo(programs.map(({ url }) => url))
    }
    lead(apis)
    const followers = history.teams.flatMap((team) => [follow(team, 'forms'), follow(team, 'records')])
    const replaceApi = async (signal: NodeJS.Signals): Promise<void> => {
      const [old, ...others] = apis
      await old?.end(signal)
      lead([...others, await pipeline.startApi()])
    }
    const disturb = async (): Promise<void> => {
      const [killed, ...others] = indexers
      await killed?.end('SIGKILL')
      await replaceApi('SIGKILL')
      indexers = [...others, await pipeline.startIndexer()]
      const rebuild = await startProgram('indexer/generations/rebuildCommand.ts', pipeline.names)
      await replaceApi('SIGTERM')
      expect([await rebuild.ended(), rebuild.log()]).toEqual([0, expect.stringContaining('generation 2 serves')])
    }
    const disturbing = disturb()
    for (let at = 0; at < history.records.length; at += burst) {
      await pipeline.produceHistory(history.records.slice(at, at + burst))
      await sleep(pollMs)
    }
    await disturbing
    await pipeline.produce('forms', [{ key: 'acme/last', value: null }])
    await eventually(() => followers.every(({ watermarkMs }) => watermarkMs() > pipeline.appendedAtMs()))
    for (const follower of followers) {
      await follower.stop()
      expectTruth(follower, history)
    }
  },
  timeoutMs,
)
