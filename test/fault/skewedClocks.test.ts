import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expectTruth, follow } from '../model/follower.ts'
import { eventually } from '../support/eventually.ts'
import type { Program } from '../support/programs.ts'
import { type History, randomHistory } from '../support/randomHistory.ts'
import { usePipeline } from '../support/usePipeline.ts'

/** `SKEWED_RECORDS=100000` makes it a long run. */
const records = Number(process.env['SKEWED_RECORDS'] ?? 600)
const burst = Math.max(30, records / 200)
/** Long enough for an idle partition to get a watermark from a clock instead of a record. */
const idleMs = 700
const maxAheadMs = 8_000
const timeoutMs = 120_000 + 200 * records

const pipeline = usePipeline()
let api: Program
let skewFile: string
const over = new AbortController()
beforeAll(async () => {
  skewFile = join(await mkdtemp(join(tmpdir(), 'skew-')), 'skew.json')
})
afterAll(async () => {
  await rm(join(skewFile, '..'), { recursive: true })
})
afterAll(() => over.abort())

const setClocks = (ownMs: number, redisMs = ownMs): Promise<void> =>
  writeFile(skewFile, JSON.stringify({ ownMs, redisMs }))

const startIndexer = (): Promise<Program> =>
  pipeline.startIndexer({
    SKEW_FILE: skewFile,
    NODE_OPTIONS: `--import=${import.meta.dirname}/../support/skewedClock.ts`,
  })

/** Appends the history with pauses; `disturb` is called after each burst. */
async function appendAndFollow(history: History, disturb: (burst: number) => Promise<void>): Promise<void> {
  await pipeline.createKeys(history.teams)
  api = await pipeline.startApi()
  const followers = history.teams.flatMap((team) =>
    (['forms', 'records'] as const).map((list) => follow(pipeline, { url: api.url, team, list, signal: over.signal })),
  )
  await eventually(() => followers.every(({ watermarkMs }) => watermarkMs > 0))
  for (let at = 0; at < history.records.length; at += burst) {
    await pipeline.produceHistory(history.records.slice(at, at + burst))
    await disturb(at / burst)
    await sleep(idleMs)
  }
  await setClocks(0)
  await pipeline.produce('forms', [{ key: 'acme/last', value: null }])
  // Watermarks may be as far ahead as the clocks were: a later one covers everything.
  const coveredMs = Date.now() + maxAheadMs
  await eventually(() => followers.every(({ watermarkMs }) => watermarkMs > coveredMs))
  for (const follower of followers) {
    await follower.stop()
    expectTruth(follower, history)
  }
}

test(
  'clients that poll by watermark miss nothing while the clocks of the indexer and of Redis are ahead of the broker, and are put back',
  async () => {
    await setClocks(5_000)
    await startIndexer()
    const steps = [5_000, -3_000, 0, maxAheadMs, 2_000]
    await appendAndFollow(randomHistory(701, records), (at) => setClocks(steps[at % steps.length] ?? 0))
  },
  timeoutMs,
)
