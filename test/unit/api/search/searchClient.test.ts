import { type Client, errors } from '@elastic/elasticsearch'
import { AnswerTooLong, openSearchClient } from '../../../../src/api/search/searchClient.ts'
import type { Config } from '../../../../src/core/config/config.ts'
import { connectElasticsearch } from '../../../../src/core/elasticsearch/elasticsearch.ts'
import { answer, startFakeElasticsearch } from '../../../support/fakeElasticsearch.ts'

const { signal } = new AbortController()
const question = { method: 'POST', path: '/x/_search', querystring: {}, body: { secret: 'typed' } } as const

const clientWhose = (request: () => Promise<unknown>) =>
  openSearchClient({ transport: { request }, connectionPool: { size: 1 } } as unknown as Client, 'x', true)

const failureOf = (error: unknown): Promise<unknown> =>
  clientWhose(() => Promise.reject(error))
    .send(question, signal)
    .catch((thrown: unknown) => thrown)

/** The client has parsed JSON. */
function refusal(statusCode: number, text: string): errors.ResponseError {
  const body: unknown = text.startsWith('{') ? JSON.parse(text) : text
  return new errors.ResponseError({ statusCode, body, headers: {}, warnings: null, meta: {} as never })
}

describe('a failed request to Elasticsearch', () => {
  test.each<[error: Error, reason: string]>([
    [new errors.RequestAbortedError('aborted'), 'deadline'],
    [new errors.TimeoutError('timeout'), 'deadline'],
    [new errors.ConnectionError('ECONNREFUSED'), 'unreachable'],
    [new errors.NoLivingConnectionsError('none', {} as never), 'unreachable'],
    [new errors.ProductNotSupportedError('x'), 'unreachable'],
    ...[401, 403, 500, 502, 503, 504].map((status) => [refusal(status, '{}'), 'refused'] as [Error, string]),
    [refusal(429, '{"error":{"type":"es_rejected_execution_exception"}}'), 'overloaded'],
    [refusal(503, 'no JSON'), 'refused'],
    [refusal(400, '{"error":{"type":"index_closed_exception"}}'), 'refused'],
    [refusal(400, '{"error":{"type":"task_cancelled_exception"}}'), 'refused'],
    // Under load Elasticsearch may name no cause.
    [refusal(400, '{"error":{"root_cause":[],"type":"search_phase_execution_exception"}}'), 'refused'],
    [
      refusal(
        500,
        '{"error":{"type":"search_phase_execution_exception","caused_by":{"type":"circuit_breaking_exception"}}}',
      ),
      'overloaded',
    ],
  ])('that ends with %p is an outage: %s', async (error, reason) => {
    expect(await failureOf(error)).toMatchObject({ name: 'ElasticsearchUnavailable', reason })
  })

  test('that Elasticsearch does not understand is a bug, logged without the request body', async () => {
    const body = '{"error":{"type":"parsing_exception","reason":"typed"},"status":400}'
    const failure = (await failureOf(refusal(400, body))) as Error
    expect(failure.name).toBe('InvalidSearch')
    expect(failure.message).toContain('400 parsing_exception')
    expect(failure.message).not.toContain('typed')
  })

  test('that Elasticsearch does not understand is logged with the type of the innermost cause', async () => {
    const cause = '{"type":"zone_rules_exception","reason":"typed"}'
    const body = `{"error":{"type":"outer","caused_by":{"type":"inner","caused_by":${cause}}}}`
    expect(await failureOf(refusal(400, body))).toMatchObject({ name: 'InvalidSearch', type: 'zone_rules_exception' })
  })

  test('that ends with any other error throws that error', async () => {
    const bug = new TypeError('x')
    expect(await failureOf(bug)).toBe(bug)
  })
})

test.each([
  [200, true, Buffer.from('{}')],
  [404, false, {}],
])('an answer with status %i counts as found: %p', async (statusCode, isFound, body) => {
  const client = clientWhose(async () => ({ statusCode, body }))
  expect(await client.send(question, signal)).toEqual({ isFound, bytes: Buffer.from(isFound ? '{}' : '') })
})

const server = await startFakeElasticsearch()
afterAll(() => server.close())

test('an answer is read up to the bytes that its request allows', async () => {
  const client = connectElasticsearch({ ELASTICSEARCH_URL: [server.url] } as Config)
  const read = (maxBytes: number) => openSearchClient(client, 'x', true).send({ ...question, maxBytes }, signal)
  server.answerWith(answer(200, 'x'.repeat(99_998)))
  await expect(read(99_999)).rejects.toThrow(AnswerTooLong)
  expect((await read(100_000)).bytes).toHaveLength(100_000)
  await client.close()
})
