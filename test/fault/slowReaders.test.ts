import { openSlowStage, slowReaders } from '../abuse/slowReaders.ts'
import { eventually } from '../support/eventually.ts'
import { useStarted } from '../support/lifecycle.ts'
import { killPrograms } from '../support/programs.ts'

const stage = useStarted('the stage', openSlowStage)
afterEach(() => stage.end())
afterAll(killPrograms)

/** Of one process. */
const mostExports = 32

const cut = (): Promise<number> => stage.api.metric('tidemark_http_slow_readers_total')
const inFlight = (): Promise<number> => stage.api.metric('tidemark_http_requests_in_flight')

test.each(slowReaders)('$name: their connections are reset, and another team is answered again', async (readers) => {
  const before = await cut()
  stage.begin(readers)
  await eventually(async () => (await inFlight()) >= mostExports)
  await eventually(async () => (await stage.statusOfBystander(readers)) === 503)
  await eventually(async () => (await stage.statusOfBystander(readers)) === 200)
  expect(await cut()).toBeGreaterThan(before)
  stage.end()
  await eventually(async () => (await inFlight()) === 0)
})
