import { type Config, readConfig } from '../../../../src/core/process/config.ts'
import {
  connectElasticsearch,
  connectElasticsearchBytes,
  elasticsearchProbe,
} from '../../../../src/core/stores/elasticsearch.ts'
import { answer, type FakeElasticsearch, startFakeElasticsearch } from '../../../support/fakeElasticsearch.ts'

/** Answers everything but the question who asks, which it refuses. */
let server: FakeElasticsearch
/** How each request names its user. */
const authorizations: (string | undefined)[] = []

beforeAll(async () => {
  server = await startFakeElasticsearch()
  server.answerWith((asked, response) => {
    authorizations.push(asked.headers.authorization)
    answer(asked.url === '/_security/_authenticate' ? 401 : 200, {})(asked, response)
  })
})
afterAll(() => server.close())

const configOf = (settings: Record<string, string>): Config => {
  const read = readConfig({ ELASTICSEARCH_URL: server.url, ...settings }, [], '')
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  return read.config
}
/** The server, with a user and a password that a URL must encode. */
const inUrl = (): Record<string, string> => ({ ELASTICSEARCH_URL: server.url.replace('//', '//us%20er:p%40ss@') })

test.each([connectElasticsearch, connectElasticsearchBytes])(
  '%p tells Elasticsearch the user of its URL',
  async (connect) => {
    const client = connect(configOf(inUrl()))
    await client.transport.request({ method: 'GET', path: '/' })
    expect(authorizations.at(-1)).toBe(`Basic ${Buffer.from('us er:p@ss').toString('base64')}`)
    await client.close()
  },
)

test.each([
  ['ELASTICSEARCH_USERNAME', () => ({})],
  ['ELASTICSEARCH_API_KEY', () => ({ ELASTICSEARCH_API_KEY: 'key' })],
  ['ELASTICSEARCH_PASSWORD', () => ({ ELASTICSEARCH_USERNAME: 'user', ELASTICSEARCH_PASSWORD: 'password' })],
  ['ELASTICSEARCH_URL', inUrl],
])('who is refused at the start is told %s, where the user is named', async (path, settings) => {
  const problem = await elasticsearchProbe(configOf(settings())).tryCredentials(AbortSignal.timeout(20_000))
  expect(problem).toEqual({ path, rule: expect.any(String) })
})
