import type { RequestListener } from 'node:http'
import { openSearchClient } from '../../../../src/api/search/searchClient.ts'
import { asBytes, connectElasticsearch } from '../../../../src/core/elasticsearch/elasticsearch.ts'
import { closing } from '../../../support/closing.ts'
import { testConfig } from '../../../support/config.ts'
import { answer } from '../../../support/fakeElasticsearch.ts'
import { startLocalServer } from '../../../support/localServer.ts'

const close = closing()
const headers = { 'content-type': 'application/json', 'x-elastic-product': 'Elasticsearch' }
const node = async (listener: RequestListener): Promise<string> => close(await startLocalServer(listener)).url
const healthy = answer(200, { took: 1 })
const withoutMaster = answer(503, { error: { type: 'cluster_block_exception' }, status: 503 })
async function gone(): Promise<string> {
  const server = await startLocalServer(healthy)
  await server.close()
  return server.url
}

/** The responses of six searches one after the other, each as its text or the reason why there is none. */
async function searches(urls: readonly string[]): Promise<string[]> {
  const config = testConfig({ ELASTICSEARCH_URL: urls.join(','), REDIS_URL: 'redis://127.0.0.1' })
  const client = connectElasticsearch(config)
  const { send } = openSearchClient(client, 'x', true)
  const responses: string[] = []
  for (let turn = 0; turn < 6; turn++) {
    const sent = send({ method: 'GET', path: '/x/_search', querystring: {} }, AbortSignal.timeout(10_000))
    const [result] = await Promise.allSettled([sent])
    responses.push(result.status === 'fulfilled' ? result.value.bytes.toString() : result.reason.reason)
  }
  await client.close()
  return responses
}
const answered = Array(6).fill('{"took":1}')

test('a search goes to another node if one is gone', async () => {
  expect(await searches([await gone(), await node(healthy), await node(healthy)])).toEqual(answered)
})

test('a search goes to another node if one has no master', async () => {
  expect(await searches([await node(withoutMaster), await gone(), await node(healthy)])).toEqual(answered)
})

test('a node that does not answer delays one search, and the next searches avoid it', async () => {
  const silent = await node(() => undefined)
  const responses = await searches([silent, await node(healthy)])
  expect(responses.toSorted()).toEqual([...answered.slice(1), 'deadline'].toSorted())
})

test.each([
  ['bytes', asBytes],
  ['parsed responses', () => ({})],
])(
  'a request for %s that is aborted while its response arrives marks no node as dead, and goes to no other',
  async (_what, optionsOf) => {
    let asked = 0
    const other: RequestListener = (...exchange) => {
      asked++
      healthy(...exchange)
    }
    const arrives = Promise.withResolvers<void>()
    const slow = await node((_, response) => {
      asked++
      response.writeHead(200, headers)
      response.write('{"took":', () => arrives.resolve())
    })
    const urls = [slow, await node(other)]
    const client = connectElasticsearch(
      testConfig({ ELASTICSEARCH_URL: urls.join(','), REDIS_URL: 'redis://127.0.0.1' }),
    )
    const gone = new AbortController()
    const aborted = client.transport.request(
      { method: 'GET', path: '/x' },
      { signal: gone.signal, ...optionsOf(client) },
    )
    await arrives.promise
    // What came before the response to another request has come.
    await (await fetch(await node(healthy))).text()
    gone.abort()
    await expect(aborted).rejects.toMatchObject({ name: 'RequestAbortedError' })
    expect([asked, client.connectionPool.connections.map(({ status }) => status)]).toEqual([1, ['alive', 'alive']])
    await client.close()
  },
)

test('a search fails when no node can answer it', async () => {
  expect(new Set(await searches([await gone(), await gone()]))).toEqual(new Set(['unreachable']))
  expect(new Set(await searches([await node(withoutMaster), await gone()]))).not.toContain('{"took":1}')
})
