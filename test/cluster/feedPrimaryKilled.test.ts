import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from '@elastic/elasticsearch'
import { jest } from '@jest/globals'
import type { Cluster } from '../../tools/engines/engines.ts'
import { waitUntil } from '../../tools/engines/waiting.ts'
import { followAll } from '../support/chaosFollowers.ts'
import { isElasticsearchWhole } from '../support/clusterHealth.ts'
import { eventually } from '../support/eventually.ts'
import { endingToo, useStarted } from '../support/late.ts'
import { clusterDeadlineMs, startOwnCluster } from '../support/ownEngines.ts'
import { usePipeline } from '../support/pipeline.ts'
import { seeded } from '../support/random.ts'
import { type HistoryRecord, randomHistory } from '../support/randomHistory.ts'

jest.setTimeout(900_000)
const cluster: Cluster = useStarted('the cluster', () => startOwnCluster(['elasticsearch']), {
  patienceMs: clusterDeadlineMs,
})
const pipeline = usePipeline()
const random = seeded(6)

test('followers miss nothing while primaries are killed in the middle of bulks', async () => {
  const history = randomHistory(606, 2_400)
  const elasticsearch = endingToo(new Client({ node: cluster.urls.ELASTICSEARCH_URL.split(','), maxRetries: 5 }))
  await pipeline.startIndexer()
  await pipeline.startIndexer()
  await pipeline.createKeys(history.teams)
  const api = await pipeline.startApi()
  await pipeline.produce('forms', [{ key: 'acme/none', value: null }])
  await eventually(async () => (await pipeline.get(api, 'acme', '/api/v1/form-changes')).status === 200)
  const all = endingToo(followAll(pipeline, api.url, history.teams))
  const records: HistoryRecord[] = []
  const produce = async (count: number): Promise<void> => {
    for (let left = count; left > 0; left -= 20) {
      const some = history.records.slice(records.length, records.length + 20)
      records.push(...some)
      await pipeline.produceHistory(some)
    }
  }
  const whole = (): Promise<boolean> =>
    waitUntil(() => isElasticsearchWhole(elasticsearch).catch(() => false), {
      deadlineMs: 240_000,
      signal: new AbortController().signal,
    })
  await produce(200)
  await all.untilTrue(records)
  const index = `${pipeline.names.INDEX_PREFIX}-submissions`
  for (let turn = 1; turn <= Number(process.env['KILLS'] ?? '4'); turn++) {
    await whole()
    const shards = (await elasticsearch.cat.shards({ index, format: 'json' })) as unknown as {
      prirep: string
      node: string
    }[]
    const name = shards.find(({ prirep }) => prirep === 'p')?.node
    const node = cluster.elasticsearch.find((each) => each.name === name)
    if (node === undefined) throw new Error(`no node ${name} in ${JSON.stringify(shards)}`)
    const writing = produce(300)
    await sleep(100 + random.below(900))
    node.kill('SIGKILL')
    await node.ended()
    process.stderr.write(`${new Date().toISOString()} killed ${name}, turn ${turn}\n`)
    await writing
    await produce(100)
    await all.untilTrue(records)
    await node.start()
    await produce(100)
    await all.untilTrue(records)
  }
  process.stderr.write(`${all.answers()} walks, ${records.length} records, expired ${all.expired()}\n`)
  expect([all.problems(), all.expired()]).toEqual([[], 0])
  await all.stop()
})
