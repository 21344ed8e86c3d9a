import { startPollingReader, startSteadyWriter } from '../model/live.ts'
import { type Balancer, startBalancer } from '../support/balancer.ts'
import { eventually } from '../support/eventually.ts'
import type { Program } from '../support/programs.ts'
import { usePipeline } from '../support/usePipeline.ts'

const team = 'steady'
const readerCount = 4

const pipeline = usePipeline()
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
