import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expectTruth, follow } from '../model/follower.ts'
import { startBalancer } from '../support/balancer.ts'
import { eventually } from '../support/eventually.ts'
import { untilServes } from '../support/indexingProgress.ts'
import { useStarted } from '../support/lifecycle.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Program, startProgram } from '../support/programs.ts'
import { randomHistory } from '../support/randomHistory.ts'
import { useFolder } from '../support/temporaryFolder.ts'

const [records, burst] = [1_000, 50]
/** Long enough for an idle partition to get a watermark from a clock instead of a record. */
const idleMs = 700
/** How far ahead of the broker the clocks of indexers, of the rebuild and of Redis are, burst by burst. */
const aheadMs = [5_000, -3_000, 0, 8_000, 2_000]
const timeoutMs = 240_000

const pipeline = usePipeline()
const over = new AbortController()
afterAll(() => over.abort())
const balancer = useStarted('the balancer', startBalancer)
const skewFile = join(useFolder(), 'skew.json')
const clocks = { SKEW_FILE: skewFile, NODE_OPTIONS: `--import=${import.meta.dirname}/../support/skewedClock.ts` }
const setClocks = (ownMs = 0): Promise<void> => writeFile(skewFile, JSON.stringify({ ownMs, redisMs: ownMs }))
beforeAll(() => setClocks(0))

test(
  'clients that follow the change feed through bursts, kills, restarts, a rebuild and clock changes end with exactly the stored items, and never start anew',
  async () => {
    const history = randomHistory(301, records)
    let indexers: Program[] = await Promise.all([pipeline.startIndexer(clocks), pipeline.startIndexer(clocks)])
    await pipeline.createKeys(history.teams)
    let apis: readonly Program[] = await Promise.all([pipeline.startApi(), pipeline.startApi()])
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
      indexers = [...others, await pipeline.startIndexer(clocks)]
      const rebuild = await startProgram('rebuild', { ...pipeline.names, ...clocks })
      await replaceApi('SIGTERM')
      await untilServes(rebuild)
    }
    const disturbing = disturb()
    for (let at = 0; at < history.records.length; at += burst) {
      await pipeline.produceHistory(history.records.slice(at, at + burst))
      await setClocks(aheadMs[(at / burst) % aheadMs.length])
      await sleep(idleMs)
    }
    await disturbing
    await setClocks(0)
    await pipeline.produce('forms', [{ key: 'acme/last', value: null }])
    // Watermarks may be as far ahead as the clocks were: a later one covers everything.
    const coveredMs = Date.now() + Math.max(...aheadMs)
    await eventually(() => followers.every(({ watermarkMs }) => watermarkMs > coveredMs))
    for (const follower of followers) {
      await follower.stop()
      expectTruth(follower, history)
      expect(follower.expired).toBe(0)
    }
  },
  timeoutMs,
)
