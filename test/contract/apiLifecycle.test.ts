import { startTestApi } from '../support/api.ts'
import { runCommand } from '../support/command.ts'
import { eventually } from '../support/eventually.ts'
import { answer, emptySearch, startFakeElasticsearch } from '../support/fakeElasticsearch.ts'
import { startRelay } from '../support/relay.ts'
import { createTestReplica, type TestReplica } from '../support/replica.ts'

let replica: TestReplica
let key: string

beforeAll(async () => {
  replica = await createTestReplica()
  await replica.completeKeyView()
  key = await replica.storeKey('team-1')
})
afterAll(() => replica.close())

test('the API starts while its engines are away', async () => {
  const nowhere = await startRelay('127.0.0.1', 1)
  nowhere.cut()
  const address = `127.0.0.1:${nowhere.port}`
  const api = await startTestApi({
    settings: { ELASTICSEARCH_URL: `http://${address}`, REDIS_URL: `redis://${address}` },
    awaitReady: false,
  })
  expect((await api.send('/api/v1/forms', { key })).status).toBe(503)
  expect((await api.readiness()).map((each) => each.split(':')[0])).toEqual(['elasticsearch', 'redis', 'key view'])
  await api.close()
  await nowhere.close()
})

test('a request that runs when the API stops is answered; no other is accepted', async () => {
  const fake = await startFakeElasticsearch()
  const api = await startTestApi({ settings: { INDEX_PREFIX: replica.prefix, ELASTICSEARCH_URL: fake.url } })
  let answerNow: (() => void) | undefined
  fake.answerWith((request, response) => {
    answerNow = () => answer(200, emptySearch)(request, response)
  })
  const running = api.send('/api/v1/forms', { key, headers: { connection: 'keep-alive' } })
  await eventually(() => answerNow !== undefined)
  const closed = api.close()
  await expect(api.send('/api/v1/forms', { key })).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  answerNow?.()
  expect((await running).status).toBe(200)
  await closed
  await fake.close()
})

test('a process that cannot do its work at all ends by itself, and its log tells why', async () => {
  const api = await startTestApi({ settings: { INDEX_PREFIX: replica.prefix } })
  const { code, stderr } = await runCommand('src/main.ts', [], { PORT: String(api.port), ADMIN_PORT: '0' })
  expect([code, stderr]).toEqual([1, expect.stringContaining('EADDRINUSE')])
  await api.close()
})
