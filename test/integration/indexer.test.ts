import { readDeadLetter } from '../../indexer/deadLetters/deadLetters.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { untilCommitted } from '../support/indexingProgress.ts'
import { useStarted } from '../support/lifecycle.ts'
import { indexName } from '../support/names.ts'
import { usePipeline } from '../support/pipeline.ts'
import { createTopicsWith, recordsOf } from '../support/topics.ts'

const pipeline = usePipeline()
const indexer = useStarted('the indexer', () => pipeline.startIndexer())
const api = useStarted('the API', () => pipeline.startApi())
beforeAll(async () => {
  await pipeline.createKeys(['acme'])
  await pipeline.untilApplied(api, 'acme')
})

const formRecord = (id: string, revision = 1, title = 'A form', more: Record<string, unknown> = {}) => ({
  key: `acme/${id}`,
  value: JSON.stringify({ revision, form: formEntity({ id, title }), ...more }),
})
const records = (outcome = ''): Promise<number> => indexer.metric('tidemark_records_total', outcome)
/** Waits until so many more records than before had their outcome. */
async function processed(count: number, produce: () => Promise<void>): Promise<void> {
  const before = await records()
  await produce()
  await eventually(async () => (await records()) >= before + count)
}
type Titled = { readonly id: string; readonly title: string }
const readySays = async (): Promise<string> => await (await fetch(`${indexer.adminUrl}/readyz`)).text()

test('records wait while an index is closed, and none becomes a dead letter for it', async () => {
  const index = await indexName(pipeline.names.INDEX_PREFIX, 'forms')
  const before = await records()
  await pipeline.elasticsearch.indices.close({ index })
  await pipeline.produce('forms', [formRecord('c')])
  await eventually(async () => (await readySays()).includes('closed'))
  expect(await records()).toBe(before)
  await pipeline.elasticsearch.indices.open({ index })
  await eventually(async () => (await records()) === before + 1)
  expect(await records('dead-letter')).toBe(0)
})

test('a dead letter is the record byte for byte, with its headers, the reason and the source', async () => {
  const value = Buffer.from([0x7b, 0xff, 0x00, 0x0a])
  const headers = { trace: 'abc', empty: '', toString: 'odd' }
  await processed(1, () => pipeline.produce('forms', [{ key: 'acme/f1', value, headers }]))
  const [letter] = await pipeline.deadLetters(1)
  expect([letter?.key, letter?.value]).toEqual([Buffer.from('acme/f1'), value])
  expect(letter?.headers).toMatchObject({
    trace: 'abc',
    empty: '',
    'tidemark.path': 'value',
    'tidemark.reason': 'must be UTF-8',
    'tidemark.topic': pipeline.names.TOPIC_FORMS,
    'tidemark.partition': expect.stringMatching(/^[0-3]$/),
    'tidemark.offset': expect.stringMatching(/^\d$/),
    'tidemark.appended-at': expect.stringMatching(/Z$/),
    'tidemark.dead-lettered-at': expect.stringMatching(/Z$/),
  })
})

test('the first content of a revision stays, other content is a dead letter, and the same content again is stale', async () => {
  const outcomes = (): Promise<number[]> => Promise.all(['indexed', 'stale', 'dead-letter'].map(records))
  const before = await outcomes()
  const record = (revision: number, title: string, more?: Record<string, unknown>) =>
    formRecord('repeated', revision, title, more)
  const expectTitle = async (title: string): Promise<void> => {
    await pipeline.untilApplied(api, 'acme')
    const { items } = (await pipeline.get(api, 'acme', '/api/v1/forms?limit=100')).body as { items: Titled[] }
    const served = (await pipeline.get(api, 'acme', '/api/v1/forms/repeated')).body as Titled
    const listed = items.find(({ id }) => id === 'repeated')
    expect([listed?.title, served.title]).toEqual([title, title])
  }
  const other = record(3, 'other')
  // Both in one request, and then each against what is stored.
  await pipeline.produce('forms', [record(3, 'first'), other])
  await expectTitle('first')
  await pipeline.produce('forms', [record(3, 'first'), record(3, 'first', { unserved: true })])
  await pipeline.produce('forms', [other, record(2, 'late')])
  await expectTitle('first')
  const letters = await recordsOf(pipeline.kafka, pipeline.names.TOPIC_DEAD_LETTERS, [other.key])
  expect(letters.map((letter) => [String(letter.value), readDeadLetter(letter).path])).toEqual([
    [other.value, 'revision'],
    [other.value, 'revision'],
  ])
  const after = await outcomes()
  expect(after.map((count, at) => count - (before[at] ?? 0))).toEqual([1, 3, 2])
  expect(await indexer.metric('tidemark_revision_conflicts_total')).toBe(2)
  await pipeline.produce('forms', [record(4, 'raised')])
  await expectTitle('raised')
})

test('a record that Elasticsearch would refuse leaves no half entity, and stops no other record', async () => {
  const lists = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
  const record = (id: string, from: string, to: string) => ({
    key: `acme/${id}`,
    value: JSON.stringify({ revision: 1, form: formEntity({ id }) }).replace(from, to),
  })
  const report = '{"dimensions":["accuracy"]}'
  const letters = await records('dead-letter')
  const deepSubmission = JSON.stringify({ revision: 1, submission: submissionEntity({ id: 's1' }) })
  await processed(8, async () => {
    await pipeline.produce('forms', [
      record('deep', report, `{"a":${lists(200_000)}}`),
      record('deepest', report, `{"a":${lists(997)}}`),
      record('digits', report, `{"a":${'1'.repeat(1_001)}}`),
      record('digits-fit', report, `{"a":${'1'.repeat(1_000)}}`),
      record('twice', report, '{"a":1,"\\u0061":2.50,"b":[{"c":1,"c":1e400}]}'),
      record('unfolded', 'Product Knowledge Quiz', '\ufdfa'.repeat(2_000)),
      record('surrogate', 'Product Knowledge Quiz', '\\ud800'),
    ])
    await pipeline.produce('submissions', [
      { key: 'acme/s1', value: deepSubmission.replace('"customData":null', `"customData":${lists(998)}`) },
    ])
  })
  expect(await records('dead-letter')).toBe(letters + 3)
  const prefix = pipeline.names.INDEX_PREFIX
  const exists = async (kind: string, id: string): Promise<boolean> =>
    await pipeline.elasticsearch.exists({ index: `${prefix}-${kind}`, id: `acme/${id}`, routing: 'acme' })
  for (const id of ['deepest', 'digits-fit', 'twice', 'unfolded', 'surrogate'])
    expect([id, await exists('forms', id), await exists('form-details', id)]).toEqual([id, true, true])
  for (const id of ['deep', 'digits'])
    expect([id, await exists('forms', id), await exists('form-details', id)]).toEqual([id, false, false])
  expect([await exists('submissions', 's1'), await exists('submission-details', 's1')]).toEqual([false, false])
})

test('deleted indices are rebuilt from Kafka, and clients get 503 until they are complete', async () => {
  const forms = Array.from({ length: 50 }, (_, at) => formRecord(`f-${at}`))
  await pipeline.produce('forms', [...forms, { key: 'acme/broken', value: 'none' }])
  await pipeline.untilApplied(api, 'acme')
  const letters = await records('dead-letter')
  const prefix = pipeline.names.INDEX_PREFIX
  // Another question than below: what is kept would be served for a while.
  const served = (await pipeline.get(api, 'acme', '/api/v1/forms?limit=2')).body as { totalDocs: number }
  await pipeline.elasticsearch.indices.delete({
    index: [await indexName(prefix, 'forms'), await indexName(prefix, 'submissions')],
  })
  const seen = new Set<string>()
  await eventually(async () => {
    const { status, headers, body } = await pipeline.get(api, 'acme', '/api/v1/forms')
    const total = (body as { totalDocs?: number }).totalDocs ?? 'none'
    seen.add(`${status} ${total}`)
    return status === 200 && headers.has('replica-watermark')
  })
  expect([...seen].sort()).toEqual([`200 ${served.totalDocs}`, '503 none'])
  await eventually(async () => (await fetch(`${indexer.adminUrl}/readyz`)).ok)
  expect(await records('dead-letter')).toBe(letters)
})

describe('with a topic that has no LogAppendTime', () => {
  const other = usePipeline()

  test('no watermark is published, this is reported, and records are indexed all the same', async () => {
    const ofProducers = { 'message.timestamp.type': 'CreateTime' }
    await createTopicsWith(other.kafka, [other.names.TOPIC_FORMS], 1, ofProducers)
    const without = await other.startIndexer()
    expect(without.log()).toContain('lacks message.timestamp.type=LogAppendTime')
    await other.createKeys(['acme'])
    await other.produce('forms', [{ ...formRecord('a'), timestamp: '1' }])
    await untilCommitted(other)
    const answer = await other.get(await other.startApi(), 'acme', '/api/v1/forms')
    expect([answer.status, answer.headers.get('replica-watermark')]).toEqual([200, null])
  })
})
