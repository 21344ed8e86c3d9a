import { startTestApi } from '../support/api.ts'
import { closing } from '../support/closing.ts'
import { refusalOf, runCommand } from '../support/command.ts'
import { eventually } from '../support/eventually.ts'
import { answer, emptySearch, startFakeElasticsearch } from '../support/fakeElasticsearch.ts'
import { killPrograms, startProgram, untilReady } from '../support/programs.ts'
import { startRelay } from '../support/relay.ts'
import { useReplica } from '../support/useApi.ts'

const { replica, keyOf } = useReplica()
const close = closing()

test('the API starts while its engines are away', async () => {
  const nowhere = close(await startRelay('127.0.0.1', 1))
  nowhere.cut()
  const address = `127.0.0.1:${nowhere.port}`
  const api = close(
    await startTestApi({
      settings: { ELASTICSEARCH_URL: `http://${address}`, REDIS_URL: `redis://${address}` },
      awaitReady: false,
    }),
  )
  expect((await api.send('/api/v1/forms', { key: keyOf('team-1') })).status).toBe(503)
  expect((await api.readiness()).map((each) => each.split(':')[0])).toEqual(['elasticsearch', 'redis', 'account keys'])
})

test('a request that runs when the API stops is answered; no other is accepted', async () => {
  const fake = close(await startFakeElasticsearch())
  const api = close(await startTestApi({ settings: { INDEX_PREFIX: replica.prefix, ELASTICSEARCH_URL: fake.url } }))
  let answerNow: (() => void) | undefined
  fake.answerWith((request, response) => {
    answerNow = () => answer(200, emptySearch)(request, response)
  })
  const running = api.send('/api/v1/forms', { key: keyOf('team-1'), headers: { connection: 'keep-alive' } })
  await eventually(() => answerNow !== undefined)
  const closed = api.close()
  await expect(api.send('/api/v1/forms', { key: keyOf('team-1') })).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  answerNow?.()
  expect((await running).status).toBe(200)
  await closed
})

test('a process that cannot do its work at all ends by itself, and its log tells why', async () => {
  const api = close(await startTestApi({ settings: { INDEX_PREFIX: replica.prefix } }))
  const { code, stderr } = await runCommand('src/api/main.ts', [], { PORT: String(api.port), ADMIN_PORT: '0' })
  expect([code, stderr]).toEqual([1, expect.stringContaining('EADDRINUSE')])
})

test('addresses that the machine does not have are told at once, by name', async () => {
  const told = await refusalOf('src/api/main.ts', { HOST: '192.0.2.1', ADMIN_HOST: '2001:db8::1' })
  expect(told.split('\n').map((line) => line.split(':')[0])).toEqual([
    'HOST cannot be listened on here',
    'ADMIN_HOST cannot be listened on here',
    '',
  ])
})

describe('a process', () => {
  afterAll(killPrograms)
  const elsewhere = (url: string): string => url.replace('127.0.0.1', '127.0.0.2')

  test('that is told no address listens on all, but for its admin port, which listens on loopback', async () => {
    const api = await startProgram('src/api/main.ts', { INDEX_PREFIX: replica.prefix })
    await untilReady(api)
    expect((await fetch(`${elsewhere(api.url)}/docs`)).status).toBe(200)
    await expect(fetch(`${elsewhere(api.adminUrl)}/livez`)).rejects.toThrow()
  })

  test('that is told one listens there alone', async () => {
    const settings = { INDEX_PREFIX: replica.prefix, HOST: '127.0.0.1', ADMIN_HOST: '0.0.0.0' }
    const api = await startProgram('src/api/main.ts', settings)
    await untilReady(api)
    await expect(fetch(`${elsewhere(api.url)}/docs`)).rejects.toThrow()
    expect((await fetch(`${elsewhere(api.adminUrl)}/livez`)).status).toBe(200)
  })
})
