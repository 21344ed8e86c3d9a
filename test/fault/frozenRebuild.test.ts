import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { startPollingReader, startSteadyWriter } from '../model/live.ts'
import { eventually } from '../support/eventually.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'
import { killPrograms, type Program, startProgram } from '../support/programs.ts'

/** Longer than the hold on the watermark, so that indexers write the old generation again. */
const frozenMs = 15_000
/** `FREEZE_EVERY=1` freezes a rebuild before each request of the end of its work; not set, only before the switch: each takes half a minute. */
const every = Number(process.env['FREEZE_EVERY'] ?? 0)
const atOnce = 3
/** Several rebuilds and their readers share two cores. */
const patienceMs = 240_000
const preload = `--import=${import.meta.dirname}/../support/stopsItself.ts`

const running: { stop(): Promise<unknown> }[] = []
const pipelines: Pipeline[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.stop()))
  killPrograms()
  await Promise.all(pipelines.splice(0).map((each) => each.close()))
})

/** Waits until `condition` holds of a rebuild. */
async function until(rebuild: Program, condition: () => Promise<boolean>): Promise<void> {
  const givesUpAtMs = Date.now() + patienceMs
  while (!(await condition())) {
    if (Date.now() > givesUpAtMs) throw new Error(`the rebuild neither froze nor ended: ${rebuild.log()}`)
    await sleep(100)
  }
}

const isFrozen = async ({ pid }: Program): Promise<boolean> =>
  /^\d+ \(.*\) T/.test(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''))

/** Freezes a rebuild before one request of the end of its work, or before the switch itself; resolves with how it ended and what a polling reader saw wrong. */
async function frozenBefore(request: number | 'switch') {
  const pipeline = await openPipeline()
  pipelines.push(pipeline)
  const indexer = await pipeline.startIndexer()
  await pipeline.createKeys(['steady'])
  const api = await pipeline.startApi()
  await eventually(async () => (await pipeline.get(api, 'steady', '/api/v1/records')).status === 200)
  const steady = startSteadyWriter(pipeline, { seed: 1, perSecond: 50, team: 'steady' })
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
  await until(rebuild, async () => code !== undefined || (await isFrozen(rebuild)))
  const wasFrozen = code === undefined
  if (wasFrozen) {
    await sleep(frozenMs)
    process.kill(rebuild.pid, 'SIGCONT')
  }
  await until(rebuild, async () => code !== undefined)
  const before = steady.written()
  await eventually(() => steady.written() > before + 100)
  await steady.stop()
  await pipeline.untilApplied(api, 'steady')
  const wrong = await reader.stop()
  await Promise.all([indexer, api].map((program) => program.end('SIGTERM')))
  return { request, wasFrozen, code, log: rebuild.log(), wrong, answers: reader.answers() }
}

test('a rebuild that freezes for 15 s between its lease and the switch is refused, and nobody notices', async () => {
  const { wasFrozen, code, log, wrong, answers } = await frozenBefore('switch')
  expect(wrong).toEqual([])
  expect({ wasFrozen, code }).toEqual({ wasFrozen: true, code: 1 })
  expect(log).toContain('the switch came too late')
  expect(answers).toBeGreaterThan(20)
}, 300_000)

const testWhenAsked = every > 0 ? test : test.skip

testWhenAsked(
  'a rebuild that freezes for 15 s before any request of the end of its work leads no reader back, and promises nothing false',
  async () => {
    const results: Awaited<ReturnType<typeof frozenBefore>>[] = []
    let next = 1
    const freezeSome = async (): Promise<void> => {
      while (results.every(({ wasFrozen }) => wasFrozen)) {
        const request = next
        next += every
        results.push(await frozenBefore(request))
      }
    }
    await Promise.all(Array.from({ length: atOnce }, freezeSome))
    const frozen = results.filter(({ wasFrozen }) => wasFrozen)
    expect(results.filter(({ wrong }) => wrong.length > 0)).toEqual([])
    expect(frozen.length).toBeGreaterThan(0)
    expect(frozen.every(({ answers }) => answers > 20)).toBe(true)
  },
  3_600_000,
)
