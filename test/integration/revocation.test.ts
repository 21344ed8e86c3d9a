import { Redis } from 'ioredis'
import { readState } from '../support/appendOnlyState.ts'
import { eventually } from '../support/eventually.ts'
import { recordsOf } from '../support/faults.ts'
import { type OwnRedis, startDeadlineMs, startOwnRedis } from '../support/ownEngines.ts'
import type { Program } from '../support/programs.ts'
import { plaintextIn, startTestSettings, type TestSettings, type Visitor } from '../support/settings.ts'
import { usePipeline } from '../support/usePipeline.ts'

const team = 'acme'

let own: OwnRedis
beforeAll(async () => {
  own = await startOwnRedis()
}, startDeadlineMs)
const pipeline = usePipeline()
let indexer: Program
let apis: Program[]
let area: TestSettings
let owner: Visitor

beforeAll(async () => {
  indexer = await pipeline.startIndexer()
  apis = [await pipeline.startApi(), await pipeline.startApi()]
  area = await startTestSettings(pipeline.names)
  owner = await area.signIn({ team })
})
afterAll(async () => {
  await area.close()
  await own.stop()
})

async function createKey(name: string): Promise<{ id: string; plaintext: string }> {
  const plaintext = plaintextIn(await owner.post('/keys', { ...(await owner.hidden()), name, expires: '' }))
  const { text } = await owner.get('/keys')
  const start = text.slice(text.indexOf(plaintext.slice(0, 13)))
  return { plaintext, id: /\/keys\/(key_[A-Za-z0-9_-]+)\/revoke/.exec(start)?.[1] ?? '' }
}
async function revoke(id: string): Promise<void> {
  const { csrf } = await owner.hidden()
  expect((await owner.post(`/keys/${id}/revoke`, { csrf })).status).toBe(303)
}
const statusesWith = (plaintext: string): Promise<number[]> =>
  Promise.all(
    apis.map(async ({ url }) => {
      const answer = await fetch(`${url}/api/v1/forms`, { headers: { authorization: `Bearer ${plaintext}` } })
      await answer.arrayBuffer()
      return answer.status
    }),
  )
/** Until both answer so; no answer on the way may let in whom it must not. */
const untilStatuses = (plaintext: string, status: number): Promise<void> =>
  eventually(async () => {
    const statuses = await statusesWith(plaintext)
    for (const each of statuses) expect([status, 503]).toContain(each)
    return statuses.every((each) => each === status)
  })

test('a key revoked in the settings area is refused by the next request to every API process', async () => {
  const { id, plaintext } = await createKey('Dashboard')
  expect(await statusesWith(plaintext)).toEqual([200, 200])
  await revoke(id)
  expect(await statusesWith(plaintext)).toEqual([401, 401])
})

test('it stays refused when Redis is killed at once and comes back, perhaps without its last second', async () => {
  const revoked = await createKey('revoked')
  const kept = await createKey('kept')
  await revoke(revoked.id)
  own.redis.kill('SIGKILL')
  await own.redis.ended()
  await own.redis.start()
  await untilStatuses(revoked.plaintext, 401)
  await untilStatuses(kept.plaintext, 200)
})

test('it stays refused when Redis has forgotten everything and is filled again', async () => {
  owner = await area.signIn({ team })
  const revoked = await createKey('forgotten')
  const kept = await createKey('remembered')
  await revoke(revoked.id)
  const redis = new Redis(process.env['REDIS_URL'] ?? '')
  await redis.flushall()
  redis.disconnect()
  await untilStatuses(revoked.plaintext, 401)
  await untilStatuses(kept.plaintext, 200)
})

test('the plaintext of a key is in no topic, in nothing that Redis keeps, and in no log', async () => {
  owner = await area.signIn({ team })
  const { id, plaintext } = await createKey('secret')
  expect(await statusesWith(plaintext)).toEqual([200, 200])
  const secret = plaintext.slice(13)
  const state = await readState(own.redis.dataFolder)
  expect(state).toContain(id)
  expect(state).not.toContain(secret)
  for (const topic of ['TOPIC_ACCOUNT_KEYS', 'TOPIC_KEY_AUDIT']) {
    const records = JSON.stringify(
      (await recordsOf(pipeline.kafka, pipeline.names[topic] ?? '')).map(({ key, value }) => [`${key}`, `${value}`]),
    )
    expect(records).toContain(id)
    expect(records).not.toContain(secret)
  }
  for (const log of [indexer.log(), area.log(), ...apis.map((api) => api.log())]) expect(log).not.toContain(secret)
})
