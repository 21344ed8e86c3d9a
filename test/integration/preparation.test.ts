import { documentKinds } from '../../src/core/elasticsearch/indices.ts'
import { kafkaSource } from '../../src/core/kafka/source.ts'
import { indexName } from '../support/names.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Program, startProgram, untilReported } from '../support/programs.ts'
import { stateRecord } from '../support/randomHistory.ts'

const pipeline = usePipeline()
beforeAll(async () => {
  // Two at once prepare the same topics and indices.
  await Promise.all([pipeline.startIndexer(), pipeline.startIndexer()])
})

test('an indexer creates missing topics with compaction, LogAppendTime and a retention of deletions of seven days', async () => {
  const { TOPIC_FORMS, TOPIC_SUBMISSIONS, TOPIC_ACCOUNT_KEYS, TOPIC_DEAD_LETTERS } = pipeline.names
  const [week, twoWeeks] = [String(7 * 86_400_000), String(14 * 86_400_000)]
  const kept = { 'delete.retention.ms': week, 'max.compaction.lag.ms': week }
  const ofSource = { 'cleanup.policy': 'compact', 'message.timestamp.type': 'LogAppendTime', ...kept }
  const ofLetters = { 'cleanup.policy': 'delete', 'retention.ms': twoWeeks }
  const names = [TOPIC_FORMS, TOPIC_SUBMISSIONS, TOPIC_ACCOUNT_KEYS, TOPIC_DEAD_LETTERS]
  const source = kafkaSource(pipeline.kafka)
  const setting = await source.topicSettings(names, Object.keys({ ...ofSource, ...ofLetters }))
  await source.close()
  for (const topic of names)
    for (const [name, value] of Object.entries(topic === TOPIC_DEAD_LETTERS ? ofLetters : ofSource))
      expect([topic, name, setting(topic, name)]).toEqual([topic, name, value])
})

test('an indexer creates indices with strict mappings, aliases and no automatic refresh', async () => {
  const prefix = pipeline.names.INDEX_PREFIX
  const indices = await pipeline.elasticsearch.indices.get({ index: `${prefix}-*` })
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

describe('with index templates of the cluster that match the indices', () => {
  const templated = usePipeline({ forEachTest: true })
  const addTemplate = async (template: object): Promise<string> => {
    const prefix = templated.names.INDEX_PREFIX
    await pipeline.elasticsearch.indices.putIndexTemplate({ name: prefix, index_patterns: [`${prefix}-*`], template })
    return prefix
  }
  const titles = async (api: Program): Promise<unknown> => {
    await templated.untilApplied(api, 'acme')
    const list = (await templated.get(api, 'acme', '/api/v1/forms')).body as { items: { title: string }[] }
    return list.items.map(({ title }) => title)
  }
  const append = async (): Promise<void> => {
    await templated.createKeys(['acme'])
    await templated.produce('forms', [stateRecord('forms', 'acme/a', 1, { title: 'A form' })])
  }
  afterEach(async () => {
    const name = templated.names.INDEX_PREFIX
    await pipeline.elasticsearch.indices.deleteIndexTemplate({ name }, { ignore: [404] })
  })

  test('documents are stored as sent, through no ingest pipeline, and are on disk once acknowledged', async () => {
    await addTemplate({
      settings: {
        default_pipeline: 'missing',
        final_pipeline: 'missing',
        'mapping.source.mode': 'synthetic',
        'translog.durability': 'async',
      },
    })
    await templated.startIndexer()
    await append()
    expect(await titles(await templated.startApi())).toEqual(['A form'])
    const name = 'index.translog.durability'
    const index = `${templated.names.INDEX_PREFIX}-*`
    const settings = await pipeline.elasticsearch.indices.getSettings({ index, name, flat_settings: true })
    expect(Object.values(settings).map((each) => each.settings?.[name as never])).toEqual(Array(4).fill('request'))
  })

  test('a template that drops parts of documents is reported, and nothing is written until it is gone', async () => {
    const prefix = await addTemplate({ mappings: { _source: { excludes: ['summary'] } } })
    const indexer = await startProgram('indexer', templated.names)
    await append()
    await untilReported(indexer, 'preparation', /_source=\{"excludes":\["summary"\]\}/)
    await pipeline.elasticsearch.indices.deleteIndexTemplate({ name: prefix })
    expect(await titles(await templated.startApi())).toEqual(['A form'])
    const name = 'index.translog.durability'
    const index = `${templated.names.INDEX_PREFIX}-*`
    const settings = await pipeline.elasticsearch.indices.getSettings({ index, name, flat_settings: true })
    expect(Object.values(settings).map((each) => each.settings?.[name as never])).toEqual(Array(4).fill('request'))
  })
})
