import { Client } from '@elastic/elasticsearch'
import kafkajs from 'kafkajs'
import { documentKinds } from '../../src/core/stores/indices.ts'
import { withAdmin } from '../support/faults.ts'
import { indexName } from '../support/names.ts'
import { usePipeline } from '../support/usePipeline.ts'

const pipeline = usePipeline()
let elasticsearch: Client
beforeAll(async () => {
  elasticsearch = new Client({ node: process.env['ELASTICSEARCH_URL'] ?? '' })
  // Two at once prepare the same topics and indices.
  await Promise.all([pipeline.startIndexer(), pipeline.startIndexer()])
})
afterAll(() => elasticsearch.close())

test('missing topics are created compacted, with append times of the broker and seven days for deletions', async () => {
  const names = ['TOPIC_FORMS', 'TOPIC_SUBMISSIONS', 'TOPIC_ACCOUNT_KEYS', 'TOPIC_DEAD_LETTERS']
  const { resources } = await withAdmin(pipeline.kafka, (admin) =>
    admin.describeConfigs({
      includeSynonyms: false,
      resources: names.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name: pipeline.names[name] ?? '' })),
    }),
  )
  const settings = resources.map(({ configEntries }) =>
    Object.fromEntries(configEntries.map(({ configName, configValue }) => [configName, configValue])),
  )
  const source = {
    'cleanup.policy': 'compact',
    'message.timestamp.type': 'LogAppendTime',
    'delete.retention.ms': String(7 * 86_400_000),
  }
  expect(settings).toEqual([
    ...[1, 2, 3].map(() => expect.objectContaining(source)),
    expect.objectContaining({ 'cleanup.policy': 'delete', 'retention.ms': String(14 * 86_400_000) }),
  ])
})

test('indices are created strict, reached by alias, refreshed by nobody else', async () => {
  const prefix = pipeline.names['INDEX_PREFIX'] ?? ''
  const indices = await elasticsearch.indices.get({ index: `${prefix}-*` })
  const names = await Promise.all(documentKinds.map((kind) => indexName(prefix, kind)))
  expect(Object.keys(indices).sort()).toEqual(names.sort())
  for (const [name, { aliases, mappings, settings }] of Object.entries(indices)) {
    expect(Object.keys(aliases ?? {}).sort()).toEqual(
      [name.replace(/-v\d-1/, ''), `${name}-write`, `${prefix}-generation-1-whole`].sort(),
    )
    expect(mappings).toMatchObject(name.includes('details') ? { enabled: false } : { dynamic: 'strict' })
    expect(settings?.index?.refresh_interval).toBe('-1')
  }
})
