import { connectElasticsearch } from '../../../../src/core/elasticsearch/elasticsearch.ts'
import { isolatedNodesAnswerNothing } from '../../../../src/core/engines/readinessChecks.ts'
import { type CheckOutcome, failed, passed } from '../../../../src/core/monitoring/health.ts'
import { testConfig } from '../../../support/config.ts'
import { answer, startFakeElasticsearch } from '../../../support/fakeElasticsearch.ts'
import { useStarted } from '../../../support/lifecycle.ts'

const setting = 'cluster.no_master_block'
const block = (no_master_block: string): object => ({ cluster: { no_master_block } })
const refusal = { error: { type: 'master_not_discovered_exception' }, status: 503 }

const fake = useStarted('Elasticsearch', startFakeElasticsearch, { forEachTest: true })

const check = async (): Promise<CheckOutcome> => {
  const client = connectElasticsearch(testConfig({ ELASTICSEARCH_URL: fake.url, REDIS_URL: 'redis://127.0.0.1:1' }))
  try {
    return await isolatedNodesAnswerNothing(client)(AbortSignal.timeout(10_000))
  } finally {
    await client.close()
  }
}
const clusterOf = (nodes: number, settings: object): void =>
  fake.answerWith((request, response) => {
    const isHealth = request.url?.startsWith('/_cluster/health') ?? false
    answer(200, isHealth ? { number_of_nodes: nodes } : settings)(request, response)
  })

test.each([
  ['one node, whatever its setting', 1, { defaults: block('write') }],
  ['set in the file of the node', 3, { defaults: block('all') }],
  ['set for the cluster', 3, { persistent: block('all'), defaults: {} }],
  ['set until it restarts', 3, { transient: block('all'), persistent: block('write') }],
])('passes if no node answers searches without its master: %s', async (_how, nodes, settings) => {
  clusterOf(nodes, settings)
  expect(await check()).toEqual(passed)
})

test.each([
  ['the default', 'write', { defaults: block('write') }],
  ['set for the cluster', 'metadata_write', { persistent: block('metadata_write') }],
  ['set until it restarts', 'write', { transient: block('write'), persistent: block('all') }],
  ['not told', 'unknown', {}],
])('fails with the value and the rule if a node may answer without its master: %s', async (_how, value, settings) => {
  clusterOf(2, settings)
  const rule = `${setting} is ${value}, but must be all in a cluster of 2 nodes: `
  expect(await check()).toEqual(failed(expect.stringContaining(rule)))
})

test('fails if Elasticsearch refuses, because a node without a master may answer searches', async () => {
  fake.answerWith(answer(503, refusal))
  expect(await check()).toEqual(failed('cannot be checked: 503 master_not_discovered_exception'))
})

test('passes if Elasticsearch is unreachable, which another check reports', async () => {
  fake.answerWith((_request, response) => response.destroy())
  expect(await check()).toEqual(passed)
})
