import { setTimeout as sleep } from 'node:timers/promises'
import { expectTruth, follow } from '../model/follower.ts'
import { type Balancer, startBalancer } from '../support/balancer.ts'
import { eventually } from '../support/eventually.ts'
import { type Program, startProgram } from '../support/programs.ts'
import { randomHistory } from '../support/randomHistory.ts'
import { usePipeline } from '../support/usePipeline.ts'

const records = 1_500
const burst = 100
const pollMs = 100
const timeoutMs = 240_000

const pipeline = usePipeline()
let balancer: Balancer
const over = new AbortController()
beforeEach(async () => {
  balancer = await startBalancer()
})
afterEach(async () => {
  await balancer.close()
})
afterAll(() => over.abort())

test(
  'clients that poll by watermark through bursts, kills, restarts and a rebuild end with exactly what is stored',
  async () => {
    const history = randomHistory(301, records)
    let indexers = [await pipeline.startIndexer(), await pipeline.startIndexer()]
    await pipeline.createKeys(history.teams)
    let apis: readonly Program[] = [await pipeline.startApi(), await pipeline.startApi()]
    const lead = (programs: readonly Program[]): void => {
      apis = programs
      balancer.leadTo(programs.map(({ url }) => url))
    }
    lead(apis)
    const followers = history.teams.flatMap((team) =>
      (['forms', 'records'] as const).map((list) =>
        follow(pipeline, { url: balancer.url, team, list, signal: over.signal }),
      ),
    )
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
      const rebuild = await startProgram('rebuild', pipeline.names)
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
    await eventually(() => followers.every(({ watermarkMs }) => watermarkMs > pipeline.appendedAtMs()))
    for (const follower of followers) {
      await follower.stop()
      expectTruth(follower, history)
    }
  },
  timeoutMs,
)
