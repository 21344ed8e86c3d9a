import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Client, errors } from '@elastic/elasticsearch'
import { type Config, readConfig } from '../../../../src/core/process/config.ts'
import {
  connectElasticsearch,
  connectElasticsearchBytes,
  elasticsearchProbe,
} from '../../../../src/core/stores/elasticsearch.ts'
import { probe } from '../../../../src/core/stores/preflight.ts'
import { eventually } from '../../../support/eventually.ts'
import { answer, type FakeElasticsearch, startFakeElasticsearch } from '../../../support/fakeElasticsearch.ts'
import { useFolder } from '../../../support/temporaryFolder.ts'

/** Answers everything but what is asked under `/unanswered`; who asks is refused. */
let server: FakeElasticsearch
/** How each request names its user. */
const authorizations: (string | undefined)[] = []
const paths: (string | undefined)[] = []
const folder = useFolder()

beforeAll(async () => {
  server = await startFakeElasticsearch()
  server.answerWith((request, response) => {
    authorizations.push(request.headers.authorization)
    paths.push(request.url)
    const status = request.url === '/_security/_authenticate' ? 401 : 200
    if (request.url !== '/unanswered') answer(status, {})(request, response)
  })
})
afterAll(() => server.close())

const configOf = (settings: Record<string, string> = {}): Config => {
  const read = readConfig({ ELASTICSEARCH_URL: server.url, ...settings }, [])
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  return read.config
}
/** The server, with a user and a password that a URL must encode. */
const inUrl = (): Record<string, string> => ({ ELASTICSEARCH_URL: server.url.replace('//', '//us%20er:p%40ss@') })
const ask = (client: Client, path: string, signal: AbortSignal, requestTimeout: number): Promise<unknown> =>
  client.transport.request({ method: 'GET', path }, { signal, requestTimeout })

describe.each([
  ['parsed responses', connectElasticsearch],
  ['bytes', connectElasticsearchBytes],
])('for a client of %s', (_of, connect) => {
  test('a request that has had its time ends nothing else of the same signal', async () => {
    const client = connect(configOf())
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

  test('a signal that is aborted already asks nothing', async () => {
    const client = connect(configOf())
    await expect(ask(client, '/answered', AbortSignal.abort(), 20_000)).rejects.toThrow(errors.RequestAbortedError)
    await client.close()
  })

  test('Elasticsearch is told the user of its URL', async () => {
    const client = connect(configOf(inUrl()))
    await client.transport.request({ method: 'GET', path: '/' })
    expect(authorizations.at(-1)).toBe(`Basic ${Buffer.from('us er:p@ss').toString('base64')}`)
    await client.close()
  })

  test.each([
    [
      'password',
      'ELASTICSEARCH_PASSWORD',
      { ELASTICSEARCH_USERNAME: 'user' },
      Buffer.from('user:second').toString('base64'),
    ],
    ['API key', 'ELASTICSEARCH_API_KEY', {}, 'second'],
  ])('and a %s as its file has it then', async (_what, name, settings, expected) => {
    const file = join(folder, name)
    writeFileSync(file, 'first\n')
    const client = connect(configOf({ ...settings, [`${name}_FILE`]: file }))
    writeFileSync(file, 'second\n')
    await eventually(async () => {
      await client.transport.request({ method: 'GET', path: '/' })
      return authorizations.at(-1)?.split(' ')[1] === expected
    })
    await client.close()
  })

  test('a node may be behind a path of a proxy', async () => {
    const client = connect(configOf({ ELASTICSEARCH_URL: `${server.url}/search/` }))
    await client.transport.request({ method: 'GET', path: '/_cluster/health' })
    expect(paths.at(-1)).toBe('/search/_cluster/health')
    await client.close()
  })
})

test('of several nodes, one may be unreachable at the start, and the others still refuse', async () => {
  const away = await startFakeElasticsearch()
  await away.close()
  const ELASTICSEARCH_URL = `${away.url},${server.url}`
  const config = configOf({ ELASTICSEARCH_URL, ELASTICSEARCH_API_KEY: 'key' })
  expect(await probe(elasticsearchProbe(config))).toEqual({
    rejected: { path: 'ELASTICSEARCH_API_KEY', rule: 'is refused by Elasticsearch' },
  })
})

test.each([
  ['ELASTICSEARCH_USERNAME', () => ({})],
  ['ELASTICSEARCH_API_KEY', () => ({ ELASTICSEARCH_API_KEY: 'key' })],
  ['ELASTICSEARCH_PASSWORD', () => ({ ELASTICSEARCH_USERNAME: 'user', ELASTICSEARCH_PASSWORD: 'password' })],
  ['ELASTICSEARCH_URL', inUrl],
])('who is refused at the start is told %s, where the user is named', async (path, settings) => {
  const problem = await elasticsearchProbe(configOf(settings())).tryCredentials(AbortSignal.timeout(20_000))
  expect(problem).toEqual({ path, rule: expect.any(String) })
})
