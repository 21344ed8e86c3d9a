import { harmDone, openStage } from '../abuse/attack.ts'
import { scenarios } from '../abuse/scenarios.ts'
import { eventually } from '../support/eventually.ts'
import { useStarted } from '../support/lifecycle.ts'
import { killPrograms } from '../support/programs.ts'

const mebibyte = 1024 * 1024
/** The API's container has 512 MiB. */
const boundBytes = 400 * mebibyte
/** How many times as hard each attack is as the least. */
const times = Number(process.env['ATTACK_TIMES'] ?? 1)

const stage = useStarted('the stage', openStage)
afterAll(killPrograms)

test.each(scenarios)(
  '$name: memory stays bounded, and another team is answered about as fast as before',
  async (scenario) => {
    const damage = await stage.attack(scenario, times)
    expect(harmDone(damage)).toEqual([])
    expect(Math.max(...damage.peakBytes)).toBeLessThan(boundBytes)
    await eventually(async () => (await stage.api.metric('tidemark_http_requests_in_flight')) === 0)
    expect(await stage.api.metric('tidemark_http_requests_waiting')).toBe(0)
  },
)

test('afterwards, no point in time is open in Elasticsearch', async () => {
  await eventually(async () => (await stage.openContexts()) === 0)
})
