import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { startPollingReader, startSteadyWriter } from '../model/live.ts'
import { eventually } from '../support/eventually.ts'
import { type Program, startProgram } from '../support/programs.ts'
import { usePipeline } from '../support/usePipeline.ts'

/** Longer than the hold on the watermark, so that indexers write the old generation again. */
const frozenMs = 15_000
const preload = `--import=${import.meta.dirname}/../support/stopsItself.ts`

const running: { stop(): Promise<unknown> }[] = []
// Before the pipeline is closed that they write through.
afterAll(() => Promise.all(running.map((each) => each.stop())))
const pipeline = usePipeline()

const isFrozen = async ({ pid }: Program): Promise<boolean> =>
  /^\d+ \(.*\) T/.test(await readFile(`/proc/${pid}/stat`, 'utf8'))

test('a rebuild that freezes for 15 s between its lease and the switch is refused, and nobody notices', async () => {
  await pipeline.startIndexer()
  await pipeline.createKeys(['steady'])
  const api = await pipeline.startApi()
  await eventually(async () => (await pipeline.get(api, 'steady', '/api/v1/records')).status === 200)
  const steady = startSteadyWriter(pipeline, { seed: 1, perSecond: 50, team: 'steady' })
  const reader = startPollingReader(pipeline, api, steady)
  running.push(steady, reader)
  await eventually(() => steady.written() > 100)
  const rebuild = await startProgram('rebuild', {
    ...pipeline.names,
    NODE_OPTIONS: preload,
  })
  await eventually(() => isFrozen(rebuild))
  await sleep(frozenMs)
  process.kill(rebuild.pid, 'SIGCONT')
  expect([await rebuild.ended(), rebuild.log()]).toEqual([1, expect.stringContaining('the switch came too late')])
  const before = steady.written()
  await eventually(() => steady.written() > before + 100)
  await steady.stop()
  await pipeline.untilApplied(api, 'steady')
  expect(await reader.stop()).toEqual([])
  expect(reader.answers()).toBeGreaterThan(20)
})
