import { setTimeout as sleep } from 'node:timers/promises'
import { startPollingReader, startSteadyWriter } from '../model/live.ts'
import { type Balancer, startBalancer } from '../support/balancer.ts'
import { eventually } from '../support/eventually.ts'
import type { Program } from '../support/programs.ts'
import { signInClaims, signInSettings, signToken } from '../support/signIns.ts'
import { usePipeline } from '../support/usePipeline.ts'

const team = 'steady'
const readerCount = 4
const restMs = 20

const pipeline = usePipeline({ forEachTest: true })
let balancer: Balancer
/** Goes on until it is stopped, also when a test fails. */
const running: { stop(): Promise<unknown> }[] = []
beforeEach(async () => {
  balancer = await startBalancer()
})
afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.stop()))
  await balancer.close()
})

/** Ends each of them and starts another in its place, one after the other; `progress` must grow each time before the next. */
async function roll(
  programs: readonly Program[],
  start: () => Promise<Program>,
  progress: () => number,
  lead: (programs: readonly Program[]) => void = () => undefined,
): Promise<void> {
  const serving = [...programs]
  for (const at of serving.keys()) {
    const before = progress()
    const ended = serving[at]?.end('SIGTERM')
    await eventually(() => progress() > before + readerCount)
    expect(await ended).toBe(0)
    serving[at] = await start()
    lead(serving)
    const after = progress()
    await eventually(() => progress() > after + readerCount)
  }
}

test('clients who poll through a restart of every API process and every indexer get complete and current answers only', async () => {
  const indexers = [await pipeline.startIndexer(), await pipeline.startIndexer()]
  await pipeline.createKeys([team])
  const apis = [await pipeline.startApi(), await pipeline.startApi()]
  const lead = (programs: readonly Program[]): void => balancer.leadTo(programs.map(({ url }) => url))
  lead(apis)
  const balanced = { url: balancer.url }
  await eventually(async () => (await pipeline.get(balanced, team, '/api/v1/records')).status === 200)
  const steady = startSteadyWriter(pipeline, { seed: 51, perSecond: 200, team })
  const readers = Array.from({ length: readerCount }, () => startPollingReader(pipeline, balanced, steady))
  running.push(steady, ...readers)
  const answers = (): number => readers.reduce((sum, reader) => sum + reader.answers(), 0)

  await roll(apis, () => pipeline.startApi(), answers, lead)
  await roll(indexers, () => pipeline.startIndexer(), answers)

  await steady.stop()
  await pipeline.produce('forms', [{ key: `${team}/last`, value: null }])
  await pipeline.untilApplied(balanced, team)
  const seen = answers()
  await eventually(() => answers() > seen + readerCount)
  expect((await Promise.all(readers.map((reader) => reader.stop()))).flat()).toEqual([])
})

test('an owner who is signed in sees the keys through a restart of every process of the settings area', async () => {
  await pipeline.startIndexer()
  const start = (): Promise<Program> =>
    pipeline.startSettings({ ...signInSettings, SETTINGS_URL: 'http://127.0.0.1:3001' })
  const areas = [await start(), await start()]
  const lead = (programs: readonly Program[]): void => balancer.leadTo(programs.map(({ url }) => url))
  lead(areas)
  await pipeline.createKeys([team])
  const token = await signToken(signInClaims(Date.now(), { team }))
  const signedIn = await fetch(`${balancer.url}/sign-in?token=${token}`, { redirect: 'manual' })
  const [cookie = ''] = signedIn.headers.getSetCookie().map((line) => line.split(';')[0])
  expect([signedIn.status, cookie]).toEqual([303, expect.stringContaining('=')])

  const wrong = new Set<string>()
  let [answers, isOver] = [0, false]
  const look = async (): Promise<void> => {
    const page = await fetch(`${balancer.url}/keys`, { headers: { cookie }, redirect: 'manual' })
    const text = await page.text()
    if (page.status !== 200 || !text.includes('</html>')) throw new Error(`status ${page.status}: ${text}`)
    answers++
  }
  const looking = Promise.all(
    Array.from({ length: readerCount }, async () => {
      while (!isOver) {
        await look().catch((error: Error) => wrong.add(error.message))
        await sleep(restMs)
      }
    }),
  )
  running.push({
    stop: async () => {
      isOver = true
      await looking
    },
  })

  await roll(areas, start, () => answers, lead)
  expect([...wrong]).toEqual([])
})
