import { type Client, errors } from '@elastic/elasticsearch'
import { jest } from '@jest/globals'
import type { Config } from '../../../../src/core/config/config.ts'
import { probe } from '../../../../src/core/config/preflight.ts'
import {
  asBytes,
  connectElasticsearch,
  defaultRequestTimeoutMs,
  elasticsearchProbe,
} from '../../../../src/core/elasticsearch/elasticsearch.ts'
import { testConfig } from '../../../support/config.ts'
import { answer, startFakeElasticsearch } from '../../../support/fakeElasticsearch.ts'

/** Answers everything but what is asked under `/unanswered`; who asks is refused. */
const server = await startFakeElasticsearch()
afterAll(() => server.close())
/** How each request names its user. */
const authorizations: (string | undefined)[] = []
/** What is asked under `/held` is answered then. */
let held = Promise.resolve()

server.answerWith((request, response) => {
  authorizations.push(request.headers.authorization)
  const status = request.url === '/_security/_authenticate' ? 401 : 200
  const send = (): void => answer(status, {})(request, response)
  if (request.url === '/held') held.then(send, send)
  else if (request.url !== '/unanswered') send()
})

const configOf = (settings: Record<string, string> = {}): Config =>
  testConfig({ ELASTICSEARCH_URL: server.url, REDIS_URL: 'redis://127.0.0.1:1', ...settings })
/** The server, with a user and a password that a URL must encode. */
const inUrl = (): Record<string, string> => ({ ELASTICSEARCH_URL: server.url.replace('//', '//us%20er:p%40ss@') })

describe.each([
  ['parsed responses', () => ({})],
  ['bytes', asBytes],
])('a client that requests %s', (_of, optionsOf) => {
  const ask = (client: Client, path: string, signal: AbortSignal, requestTimeout: number): Promise<unknown> =>
    client.transport.request({ method: 'GET', path }, { signal, requestTimeout, ...optionsOf(client) })
  const clients: Client[] = []
  const opened = (settings?: Record<string, string>): Client => {
    const client = connectElasticsearch(configOf(settings))
    clients.push(client)
    return client
  }
  afterAll(async () => void (await Promise.all(clients.map((client) => client.close()))))

  test('a request that times out does not abort others with the same signal', async () => {
    const client = opened()
    const controller = new AbortController()
    const { signal } = controller
    let events = 0
    signal.addEventListener('abort', () => events++)
    const other = ask(client, '/unanswered', signal, 20_000).catch((error: unknown) => error)
    await expect(ask(client, '/unanswered', signal, 50)).rejects.toThrow(errors.TimeoutError)
    expect([events, signal.aborted]).toEqual([0, false])
    const answered = ask(client, '/answered', signal, 20_000).then(() => 'answered')
    expect(await Promise.race([other, answered])).toBe('answered')
    controller.abort()
    expect(await other).toBeInstanceOf(errors.RequestAbortedError)
  })

  test('a request may have a longer timeout than others', async () => {
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
    held = isReleased
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] })
    try {
      const { signal } = new AbortController()
      const longer = ask(opened(), '/held', signal, 600_000).then(() => 'answered')
      const others = ask(opened(), '/held', signal, defaultRequestTimeoutMs)
      const isRefused = expect(others).rejects.toThrow(errors.TimeoutError)
      await jest.advanceTimersByTimeAsync(10 * defaultRequestTimeoutMs - 1_000)
      await isRefused
      release()
      expect(await longer).toBe('answered')
    } finally {
      jest.useRealTimers()
    }
  })

  test('a request whose signal is already aborted is not sent', async () => {
    await expect(ask(opened(), '/answered', AbortSignal.abort(), 20_000)).rejects.toThrow(errors.RequestAbortedError)
  })

  test('requests are sent as the user in the URL', async () => {
    await opened(inUrl()).transport.request({ method: 'GET', path: '/' })
    expect(authorizations.at(-1)).toBe(`Basic ${Buffer.from('us er:p@ss').toString('base64')}`)
  })
})

test('a refusal at the start is noticed also if one of several nodes is unreachable', async () => {
  const away = await startFakeElasticsearch()
  await away.close()
  const ELASTICSEARCH_URL = `${away.url},${server.url}`
  const config = configOf({ ELASTICSEARCH_URL, ELASTICSEARCH_API_KEY: 'key' })
  expect(await probe(elasticsearchProbe(config))).toEqual({
    kind: 'rejected',
    problem: { path: 'ELASTICSEARCH_API_KEY', rule: 'is refused by Elasticsearch' },
  })
})

test.each([
  ['ELASTICSEARCH_USERNAME', () => ({})],
  ['ELASTICSEARCH_API_KEY', () => ({ ELASTICSEARCH_API_KEY: 'key' })],
  ['ELASTICSEARCH_PASSWORD', () => ({ ELASTICSEARCH_USERNAME: 'user', ELASTICSEARCH_PASSWORD: 'password' })],
  ['ELASTICSEARCH_URL', inUrl],
])('a refusal at the start names %s, the variable that has the user', async (path, settings) => {
  const problem = await elasticsearchProbe(configOf(settings())).tryCredentials(AbortSignal.timeout(20_000))
  expect(problem).toEqual({ path, rule: expect.any(String) })
})
