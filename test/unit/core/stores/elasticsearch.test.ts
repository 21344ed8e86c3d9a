import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Client, errors } from '@elastic/elasticsearch'
import { type Config, readConfig } from '../../../../src/core/process/config.ts'
import {
  connectElasticsearch,
  connectElasticsearchBytes,
  connectElasticsearchRaw,
  elasticsearchProbe,
} from '../../../../src/core/stores/elasticsearch.ts'

/** Answers what is asked under `/answered`, and refuses who asks who it is. It answers nothing else. */
let server: Server
let url: string
/** How each request names its user. */
const authorizations: (string | undefined)[] = []

beforeAll(async () => {
  server = createServer(({ url: asked, headers }, response) => {
    authorizations.push(headers.authorization)
    if (asked === '/answered') response.writeHead(200, { 'x-elastic-product': 'Elasticsearch' }).end('{}')
    if (asked === '/_security/_authenticate')
      response.writeHead(401, { 'x-elastic-product': 'Elasticsearch' }).end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const configOf = (settings: Record<string, string> = {}): Config => {
  const read = readConfig({ ELASTICSEARCH_URL: url, ...settings }, [], '')
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  return read.config
}
const clientOf = (connect: typeof connectElasticsearch): Client => connect(configOf())
/** The server, with a user and a password that a URL must encode. */
const urlOfUser = (): string => url.replace('//', '//us%20er:p%40ss@')
const ask = (client: Client, path: string, signal: AbortSignal, requestTimeout: number): Promise<unknown> =>
  client.transport.request({ method: 'GET', path }, { signal, requestTimeout })

describe.each([connectElasticsearch, connectElasticsearchRaw, connectElasticsearchBytes])('%p', (connect) => {
  test('a request that has had its time ends nothing else of the same signal', async () => {
    const client = clientOf(connect)
    const controller = new AbortController()
    const { signal } = controller
    let events = 0
    signal.addEventListener('abort', () => events++)
    const other = ask(client, '/unanswered', signal, 20_000).catch((error: unknown) => error)
    await expect(ask(client, '/unanswered', signal, 50)).rejects.toThrow(errors.TimeoutError)
    expect([events, signal.aborted]).toEqual([0, false])
    expect(await Promise.race([other, ask(client, '/answered', signal, 20_000).then(() => 'answered')])).toBe(
      'answered',
    )
    controller.abort()
    expect(await other).toBeInstanceOf(errors.RequestAbortedError)
    await client.close()
  })

  test('who the URL names is told to Elasticsearch', async () => {
    const client = connect(configOf({ ELASTICSEARCH_URL: urlOfUser() }))
    await ask(client, '/answered', new AbortController().signal, 20_000)
    expect(authorizations.at(-1)).toBe(`Basic ${Buffer.from('us er:p@ss').toString('base64')}`)
    await client.close()
  })

  test('a signal that is aborted already asks nothing', async () => {
    const client = clientOf(connect)
    await expect(ask(client, '/answered', AbortSignal.abort(), 20_000)).rejects.toThrow(errors.RequestAbortedError)
    await client.close()
  })
})

test.each([
  [{}, 'ELASTICSEARCH_USERNAME'],
  [{ ELASTICSEARCH_API_KEY: 'key' }, 'ELASTICSEARCH_API_KEY'],
  [{ ELASTICSEARCH_USERNAME: 'user', ELASTICSEARCH_PASSWORD: 'password' }, 'ELASTICSEARCH_PASSWORD'],
  ['the URL names a user', 'ELASTICSEARCH_URL'],
])('who is refused at the start is told the setting that names the user: %j, %s', async (settings, path) => {
  const config = configOf(typeof settings === 'string' ? { ELASTICSEARCH_URL: urlOfUser() } : settings)
  const problem = await elasticsearchProbe(config).tryCredentials(AbortSignal.timeout(20_000))
  expect(problem).toEqual({ path, rule: expect.any(String) })
})
