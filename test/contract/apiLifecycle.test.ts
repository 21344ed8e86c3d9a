import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { chooseDistinctPorts } from '../../tools/engines/ports.ts'
import { startTestApi, useReplica } from '../support/api.ts'
import { closing } from '../support/closing.ts'
import { eventually, succeeds } from '../support/eventually.ts'
import { answer, emptySearch, startFakeElasticsearch } from '../support/fakeElasticsearch.ts'
import { killPrograms, refusalOf, startProgram, untilReady } from '../support/programs.ts'
import { startRelay } from '../support/relay.ts'

const { replica, keyOf } = useReplica()
const close = closing()
afterEach(killPrograms)

test('the API starts while its engines are away', async () => {
  const nowhere = close(await startRelay())
  nowhere.cut()
  const address = `127.0.0.1:${nowhere.port}`
  const settings = { ELASTICSEARCH_URL: `http://${address}`, REDIS_URL: `redis://${address}` }
  const api = close(await startTestApi({ settings, awaitReady: false }))
  expect((await api.send('/api/v1/forms', { key: keyOf('team-1') })).status).toBe(503)
  expect((await api.readiness()).map((each) => each.split(':')[0])).toEqual(['elasticsearch', 'redis', 'account keys'])
})

test('a request in flight when the API stops is answered, and its connection closed; new connections are refused', async () => {
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
  // It may ask more than once.
  fake.answerWith(answer(200, emptySearch))
  answerNow?.()
  expect(await running).toMatchObject({ status: 200, headers: { connection: 'close' } })
  await closed
})

test('a start with a port that is taken, or with the same port for clients and operators, ends at once and names the variable', async () => {
  const api = close(await startTestApi({ settings: { INDEX_PREFIX: replica.prefix } }))
  const taken = String(api.port)
  expect(await refusalOf('api', { PORT: taken })).toMatch(/^PORT cannot be listened on here: .*EADDRINUSE/)
  const line = /^ADMIN_PORT cannot be listened on here: .*EADDRINUSE/
  for (const command of ['api', 'indexer'] as const)
    expect(await refusalOf(command, { ADMIN_PORT: taken })).toMatch(line)
  const [port = 0] = await chooseDistinctPorts(1)
  const same = { PORT: String(port), ADMIN_PORT: String(port) }
  expect(await refusalOf('api', same)).toBe(`ADMIN_PORT must differ from PORT: both are ${port}\n`)
  // The default, too.
  expect(await refusalOf('api', { PORT: '', ADMIN_PORT: '3000' })).toMatch(/^ADMIN_PORT must differ/)
})

test('a start with an unsupported version of Elasticsearch ends and says which is needed, also if the user may not read the version', async () => {
  const fake = close(await startFakeElasticsearch())
  const settings = { INDEX_PREFIX: replica.prefix, ELASTICSEARCH_URL: fake.url }
  // As 8.19.4 does: it refuses what the client of 9 sends, whoever asks, and answers what has no body.
  const refused = { error: { type: 'media_type_header_exception', reason: 'Invalid media-type' }, status: 400 }
  fake.answerWith((request, response) => {
    const hasBody = request.headers['content-length'] !== undefined && request.headers['content-length'] !== '0'
    answer(hasBody ? 400 : 403, hasBody ? refused : {})(request, response)
  })
  const needed = 'Elasticsearch 9.1 or a later 9 is needed'
  expect(await refusalOf('api', settings)).toBe(`ELASTICSEARCH_URL names an older release; ${needed}\n`)
  for (const number of ['10.1.1', '9.0.8']) {
    fake.answerWith(answer(200, { version: { number } }))
    expect(await refusalOf('api', settings)).toBe(`ELASTICSEARCH_URL names version ${number}; ${needed}\n`)
  }
  fake.answerWith(answer(200, { version: { number: '9.5.2' } }))
  expect(await refusalOf('api', settings)).toMatch(/^ELASTICSEARCH_URL names version 9\.5\.2: .* may lack documents/)
  fake.answerWith((_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end('{"version":{"distribution":"opensearch","number":"3.1.0"}}')
  })
  expect(await refusalOf('api', settings)).toMatch(/^ELASTICSEARCH_URL names something else/)
})

describe('while a process tries to reach its engines,', () => {
  const servers: Server[] = []
  async function listen(port: number, onSocket = (): void => undefined): Promise<number> {
    const server = createServer(onSocket)
    servers.push(server)
    await once(server.listen(port), 'listening')
    return (server.address() as AddressInfo).port
  }
  afterEach(() => {
    for (const server of servers.splice(0)) server.close()
  })
  /** The API, and a Redis that has accepted its connection and never answers. */
  async function looking() {
    const accepted = Promise.withResolvers<void>()
    const silent = await listen(0, accepted.resolve)
    const api = await startProgram('api', { REDIS_URL: `redis://127.0.0.1:${silent}` })
    await accepted.promise
    return api
  }

  test('it ends at once, with exit code 0, when it is stopped', async () => {
    const api = await looking()
    expect([await api.end('SIGTERM'), api.log()]).toEqual([0, ''])
  })

  test('another process may take its port, which ends it as if the port had been taken before', async () => {
    const api = await looking()
    const port = Number(new URL(api.url).port)
    // The process listens for a moment itself, to see whether it could.
    await eventually(() => listen(port).then(Boolean, () => false))
    expect([await api.ended(), api.log()]).toEqual([78, expect.stringContaining('EADDRINUSE')])
  })
})

test('a start with addresses that the machine does not have ends at once and names the variables', async () => {
  const refused = async (more: Readonly<Record<string, string>>): Promise<readonly (string | undefined)[]> => {
    const told = await refusalOf('api', { HOST: '192.0.2.1', ADMIN_HOST: '2001:db8::1', ...more })
    return told.split('\n').map((line) => line.split(':')[0])
  }
  const [host, adminHost] = ['HOST cannot be listened on here', 'ADMIN_HOST cannot be listened on here']
  expect(await refused({ ADMIN_PORT: '9199' })).toEqual([host, adminHost, ''])
  // Nothing would listen there.
  expect(await refused({ ADMIN_PORT: '0' })).toEqual([host, ''])
})

test.each([
  ['no address listens on all, but for its admin port, which listens on loopback', {}, [true, false]],
  ['addresses listens there alone', { HOST: '127.0.0.1', ADMIN_HOST: '0.0.0.0' }, [false, true]],
])('a process that is configured with %s', async (_which, settings, isReached) => {
  const api = await startProgram('api', { INDEX_PREFIX: replica.prefix, ...settings })
  await untilReady(api)
  const elsewhere = [`${api.url}/docs`, `${api.adminUrl}/livez`].map((url) => url.replace('127.0.0.1', '127.0.0.2'))
  expect(await Promise.all(elsewhere.map((url) => succeeds(fetch(url))))).toEqual(isReached)
})
