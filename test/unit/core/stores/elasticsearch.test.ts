import { type Client, errors } from '@elastic/elasticsearch'
import { readConfig } from '../../../../src/core/process/config.ts'
import { connectElasticsearch, connectElasticsearchBytes } from '../../../../src/core/stores/elasticsearch.ts'
import { answer, type FakeElasticsearch, startFakeElasticsearch } from '../../../support/fakeElasticsearch.ts'

/** Answers what is asked under `/answered`, and nothing else. */
let server: FakeElasticsearch
beforeAll(async () => {
  server = await startFakeElasticsearch()
  server.answerWith((asked, response) => {
    if (asked.url === '/answered') answer(200, {})(asked, response)
  })
})
afterAll(() => server.close())

const clientOf = (connect: typeof connectElasticsearch): Client => {
  const read = readConfig({ ELASTICSEARCH_URL: server.url }, [], '')
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  return connect(read.config)
}
const ask = (client: Client, path: string, signal: AbortSignal, requestTimeout: number): Promise<unknown> =>
  client.transport.request({ method: 'GET', path }, { signal, requestTimeout })

describe.each([connectElasticsearch, connectElasticsearchBytes])('%p', (connect) => {
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

  test('a signal that is aborted already asks nothing', async () => {
    const client = clientOf(connect)
    await expect(ask(client, '/answered', AbortSignal.abort(), 20_000)).rejects.toThrow(errors.RequestAbortedError)
    await client.close()
  })
})
