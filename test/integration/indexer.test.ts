import { Client } from '@elastic/elasticsearch'
import { createTopics } from '../../src/core/kafka/createTopics.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { withAdmin } from '../support/faults.ts'
import { indexName } from '../support/names.ts'
import type { Program } from '../support/programs.ts'
import { usePipeline } from '../support/usePipeline.ts'

const detailOf = (id: string) => ({ index: `${pipeline.names['INDEX_PREFIX']}-form-details`, id, routing: 'acme' })

const pipeline = usePipeline({ forEachTest: true })
let elasticsearch: Client
beforeEach(() => {
  elasticsearch = new Client({ node: process.env['ELASTICSEARCH_URL'] ?? '' })
})
afterEach(() => elasticsearch.close())

const formRecord = (id: string, revision: number, changes: Record<string, unknown> = {}) => ({
  key: `acme/${id}`,
  value: JSON.stringify({ revision, form: formEntity({ id, ...changes }) }),
})
const settled = (indexer: Program, count: number): Promise<void> =>
  eventually(async () => (await indexer.metric('tidemark_records_total')) >= count)
const readySays = async (indexer: Program): Promise<string> => await (await fetch(`${indexer.adminUrl}/readyz`)).text()
const committed = async (topic: string): Promise<bigint> => {
  const [of] = await withAdmin(pipeline.kafka, (admin) =>
    admin.fetchOffsets({ groupId: pipeline.names['CONSUMER_GROUP'] ?? '', topics: [topic] }),
  )
  return (of?.partitions ?? []).reduce((sum, { offset }) => sum + (BigInt(offset) > 0n ? BigInt(offset) : 0n), 0n)
}

test('aliases that someone took away are given back, and nothing is missing after', async () => {
  const indexer = await pipeline.startIndexer()
  const prefix = pipeline.names['INDEX_PREFIX'] ?? ''
  const index = await indexName(prefix, 'form-details')
  for (const [id, name] of [
    ['a', `${prefix}-form-details`],
    ['b', `${index}-write`],
  ] as const) {
    await elasticsearch.indices.deleteAlias({ index, name })
    await pipeline.produce('forms', [formRecord(id, 1)])
    await eventually(async () => (await elasticsearch.indices.existsAlias({ name })) === true)
    await eventually(async () => (await elasticsearch.exists(detailOf(`acme/${id}`))) === true)
  }
  await eventually(async () => (await committed(pipeline.names['TOPIC_FORMS'] ?? '')) === 2n)
  expect(await indexer.metric('tidemark_records_total', 'dead-letter')).toBe(0)
})

test('indices that someone deleted are built anew from Kafka; until they are whole, readers are told 503', async () => {
  const indexer = await pipeline.startIndexer()
  await pipeline.createKeys(['acme'])
  const records = Array.from({ length: 50 }, (_, at) => formRecord(`f${at}`, 1))
  await pipeline.produce('forms', [...records, { key: 'acme/poison', value: 'none' }])
  const api = await pipeline.startApi()
  await pipeline.untilApplied(api, 'acme')
  const prefix = pipeline.names['INDEX_PREFIX'] ?? ''
  await elasticsearch.indices.delete({
    index: [await indexName(prefix, 'forms'), await indexName(prefix, 'submissions')],
  })
  const seen = new Set<string>()
  await eventually(async () => {
    const { status, headers, body } = await pipeline.get(api, 'acme', '/api/v1/forms')
    const total = (body as { totalDocs?: number }).totalDocs ?? 'none'
    seen.add(`${status} ${total}`)
    return status === 200 && headers.has('replica-watermark')
  })
  expect([...seen].sort()).toEqual(['200 50', '503 none'])
  await eventually(async () => (await fetch(`${indexer.adminUrl}/readyz`)).ok)
  expect(await indexer.metric('tidemark_records_total', 'dead-letter')).toBe(1)
})

test('a closed index pauses too: good records are never set aside for what is wrong with the index', async () => {
  const indexer = await pipeline.startIndexer()
  const index = await indexName(pipeline.names['INDEX_PREFIX'] ?? '', 'forms')
  await elasticsearch.indices.close({ index })
  await pipeline.produce('forms', [formRecord('a', 1)])
  await eventually(async () => (await readySays(indexer)).includes('closed'))
  expect(await indexer.metric('tidemark_records_total')).toBe(0)
  await elasticsearch.indices.open({ index })
  await settled(indexer, 1)
  expect(await indexer.metric('tidemark_records_total', 'dead-letter')).toBe(0)
})

test('a dead letter is the record byte for byte, with its own headers and why and where from', async () => {
  const indexer = await pipeline.startIndexer()
  const value = Buffer.from([0x7b, 0xff, 0x00, 0x0a])
  const headers = { trace: 'abc', empty: '', toString: 'odd' }
  await pipeline.produce('forms', [{ key: 'acme/f1', value, headers }])
  await settled(indexer, 1)
  const [letter] = await pipeline.deadLetters(1)
  expect([letter?.key, letter?.value]).toEqual([Buffer.from('acme/f1'), value])
  expect(letter?.headers).toMatchObject({
    trace: 'abc',
    empty: '',
    'tidemark.path': 'value',
    'tidemark.reason': 'must be UTF-8',
    'tidemark.topic': pipeline.names['TOPIC_FORMS'],
    'tidemark.partition': expect.stringMatching(/^[0-3]$/),
    'tidemark.offset': '0',
    'tidemark.appended-at': expect.stringMatching(/Z$/),
    'tidemark.dead-lettered-at': expect.stringMatching(/Z$/),
  })
})

test('what Elasticsearch would refuse never leaves half of an entity, and stops nothing', async () => {
  const indexer = await pipeline.startIndexer()
  const lists = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
  const record = (id: string, from: string, to: string) => ({
    key: `acme/${id}`,
    value: JSON.stringify({ revision: 1, form: formEntity({ id }) }).replace(from, to),
  })
  const report = '{"dimensions":["accuracy"]}'
  await pipeline.produce('forms', [
    record('deep', report, `{"a":${lists(200_000)}}`),
    record('deepest', report, `{"a":${lists(997)}}`),
    record('digits', report, `{"a":${'1'.repeat(1_001)}}`),
    record('digits-fit', report, `{"a":${'1'.repeat(1_000)}}`),
    record('twice', report, '{"a":1,"\\u0061":2.50,"b":[{"c":1,"c":1e400}]}'),
    record('unfolded', 'Product Knowledge Quiz', '\ufdfa'.repeat(2_000)),
    record('surrogate', 'Product Knowledge Quiz', '\\ud800'),
  ])
  const deepSubmission = JSON.stringify({ revision: 1, submission: submissionEntity({ id: 's1' }) })
  await pipeline.produce('submissions', [
    { key: 'acme/s1', value: deepSubmission.replace('"customData":null', `"customData":${lists(998)}`) },
  ])
  await settled(indexer, 8)
  expect(await indexer.metric('tidemark_records_total', 'dead-letter')).toBe(3)
  const prefix = pipeline.names['INDEX_PREFIX'] ?? ''
  const exists = async (kind: string, id: string): Promise<boolean> =>
    await elasticsearch.exists({ index: `${prefix}-${kind}`, id: `acme/${id}`, routing: 'acme' })
  for (const id of ['deepest', 'digits-fit', 'twice', 'unfolded', 'surrogate'])
    expect([id, await exists('forms', id), await exists('form-details', id)]).toEqual([id, true, true])
  for (const id of ['deep', 'digits'])
    expect([id, await exists('forms', id), await exists('form-details', id)]).toEqual([id, false, false])
  expect([await exists('submissions', 's1'), await exists('submission-details', 's1')]).toEqual([false, false])
})

test('without append times of the broker no watermark is published, it is said, and records are indexed all the same', async () => {
  const topic = pipeline.names['TOPIC_FORMS'] ?? ''
  const configEntries = [{ name: 'cleanup.policy', value: 'compact' }]
  await withAdmin(pipeline.kafka, (admin) => createTopics(admin, [{ topic, numPartitions: 1, configEntries }]))
  const indexer = await pipeline.startIndexer()
  expect(indexer.log()).toContain('lacks message.timestamp.type=LogAppendTime')
  await pipeline.createKeys(['acme'])
  await pipeline.produce('forms', [{ ...formRecord('a', 1), timestamp: '1' }])
  await settled(indexer, 2)
  await eventually(async () => (await committed(topic)) === 1n)
  const api = await pipeline.startApi()
  const answer = await pipeline.get(api, 'acme', '/api/v1/forms')
  expect([answer.status, answer.headers.get('replica-watermark')]).toEqual([200, null])
})
