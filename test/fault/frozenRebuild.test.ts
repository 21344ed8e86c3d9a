import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../support/eventually.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'
import { startPollingReader } from '../support/pollingReader.ts'
import { killPrograms, type Program, startProgram } from '../support/programs.ts'
import { startSteadyWriter } from '../support/steadyWriter.ts'

/** Longer than the hold on the watermark, so that indexers write the old generation again. */
const frozenMs = 15_000
/** More requests than a rebuild makes while it switches: the last ones never freeze it. */
const requests = Number(process.env['FREEZE_BEFORE'] ?? 40)
const atOnce = 5
const preload = `--import=${import.meta.dirname}/../support/stopsItself.ts`

const running: { stop(): Promise<unknown> }[] = []
const pipelines: Pipeline[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.stop()))
  killPrograms()
  await Promise.all(pipelines.splice(0).map((each) => each.close()))
})

const isFrozen = async ({ pid }: Program): Promise<boolean> =>
  /^\d+ \(.*\) T/.test(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''))

/** Freezes a rebuild before one request of its switch; resolves with how it ended and what a polling reader saw wrong. */
async function frozenBefore(request: number) {
  const pipeline = await openPipeline()
  pipelines.push(pipeline)
  await pipeline.startIndexer()
  await pipeline.createKeys(['steady'])
  const api = await pipeline.startApi()
  await eventually(async () => (await pipeline.get(api, 'steady', '/api/v1/records')).status === 200)
  const steady = startSteadyWriter(pipeline, { seed: request, perSecond: 50, team: 'steady' })
  const reader = startPollingReader(pipeline, api, steady)
  running.push(steady, reader)
  await eventually(() => steady.written() > 100)
  const rebuild = await startProgram('indexer/generations/rebuildCommand.ts', {
    ...pipeline.names,
    NODE_OPTIONS: preload,
    STOP_BEFORE: String(request),
  })
  let code: number | null | undefined
  rebuild.ended().then(
    (ended) => {
      code = ended
    },
    () => undefined,
  )
  await eventually(async () => code !== undefined || (await isFrozen(rebuild)))
  const wasFrozen = code === undefined
  if (wasFrozen) {
    await sleep(frozenMs)
    process.kill(rebuild.pid, 'SIGCONT')
  }
  await eventually(() => code !== undefined)
  const before = steady.written()
  await eventually(() => steady.written() > before + 100)
  await steady.stop()
  await pipeline.untilApplied(api, 'steady')
  const wrong = await reader.stop()
  return { request, wasFrozen, code, log: rebuild.log(), wrong, answers: reader.answers() }
}

test('a rebuild that freezes for 15 s before any request of its switch leads no reader back, and promises nothing false', async () => {
  const results: Awaited<ReturnType<typeof frozenBefore>>[] = []
  let next = 1
  const freezeSome = async (): Promise<void> => {
    while (next <= requests) {
      const result = await frozenBefore(next++)
      results.push(result)
      if (!result.wasFrozen) next = requests + 1
    }
  }
  await Promise.all(Array.from({ length: atOnce }, freezeSome))
  const frozen = results.filter(({ wasFrozen }) => wasFrozen)
  expect(results.filter(({ wrong }) => wrong.length > 0)).toEqual([])
  // Every request of the switch was one of them, and some rebuilds were refused because they came too late.
  expect(results.length).toBeGreaterThan(frozen.length)
  expect(frozen.some(({ log }) => log.includes('the switch came too late'))).toBe(true)
  expect(frozen.every(({ answers }) => answers > 20)).toBe(true)
}, 600_000)
