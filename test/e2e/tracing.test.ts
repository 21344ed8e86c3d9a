import { execFile } from 'node:child_process'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { eventually } from '../support/eventually.ts'
import { useStarted } from '../support/lifecycle.ts'
import { usePipeline } from '../support/pipeline.ts'
import type { Program } from '../support/programs.ts'
import { stateRecord } from '../support/randomHistory.ts'
import { useFolder } from '../support/temporaryFolder.ts'
import { attributeOf, type ReceivedSpan, startTraceReceiver } from '../support/traceReceiver.ts'

const team = 'acme'
const submissionId = 'of-somebody'
const secrets = ['rqp_acct', 'Bearer', 'Product', 'Ada', 'ada@', 'curl/', '203.0.113.7', submissionId, team]
const installDeadlineMs = 180_000
const ofProducer = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) }
const ofClient = { traceId: 'c'.repeat(32), spanId: 'd'.repeat(16) }
const traceparent = ({ traceId, spanId }: typeof ofProducer): string => `00-${traceId}-${spanId}-01`

const pipeline = usePipeline()
const folder = useFolder()
const receiver = useStarted('the receiver', startTraceReceiver)
let api: Program
let indexer: Program
let tracing: Record<string, string>

beforeAll(async () => {
  await cp('deploy/tracing', folder, { recursive: true, filter: (path) => !path.includes('node_modules') })
  const quietly = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline']
  await promisify(execFile)('npm', ['ci', ...quietly], { cwd: folder, timeout: installDeadlineMs })
  tracing = {
    NODE_OPTIONS: `--import=${pathToFileURL(join(folder, 'start.mjs'))}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_SCHEDULE_DELAY: '200',
    OTEL_METRICS_EXPORTER: 'otlp',
    OTEL_METRIC_EXPORT_INTERVAL: '500',
  }
  indexer = await pipeline.startIndexer({ ...tracing, OTEL_SERVICE_NAME: 'tidemark-indexer' })
  api = await pipeline.startApi({ ...tracing, OTEL_SERVICE_NAME: 'tidemark-api' })
  await pipeline.createKeys([team])
}, installDeadlineMs + 120_000)

/** The span of that name and parent, once it has arrived. */
async function childOf(parent: { traceId: string; spanId: string }, name: string): Promise<ReceivedSpan> {
  let found: ReceivedSpan | undefined
  await eventually(() => {
    found = receiver
      .spans()
      .find((span) => span.name === name && span.traceId === parent.traceId && span.parentSpanId === parent.spanId)
    return found !== undefined
  }).catch(() => {
    const seen = receiver.spans().map((span) => `${span.traceId} ${span.parentSpanId} ${span.spanId} ${span.name}`)
    throw new Error(`no ${name} below ${JSON.stringify(parent)}:\n${seen.slice(-60).join('\n')}`)
  })
  if (found === undefined) throw new Error(name)
  return found
}

test('a trace leads from the producer of a record to the bulk request', async () => {
  const headers = { traceparent: traceparent(ofProducer) }
  await pipeline.produce('forms', [{ ...stateRecord('forms', `${team}/form-1`, 1), headers }])
  await pipeline.produce('submissions', [stateRecord('submissions', `${team}/${submissionId}`, 1)])
  const record = await childOf(ofProducer, `process ${pipeline.names.TOPIC_FORMS}`)
  expect(attributeOf(record, 'messaging.destination.name')).toBe(pipeline.names.TOPIC_FORMS)
  expect(attributeOf(record, 'tidemark.outcome')).toBe('indexed')
  const bulk = await bulkOf(record)
  expect(Number(attributeOf(bulk, 'tidemark.documents'))).toBeGreaterThanOrEqual(2)
  const request = await childOf(bulk, 'elasticsearch bulk')
  expect(attributeOf(request, 'http.response.status_code')).toBe(200)
  await eventually(() => receiver.spans().some(({ name }) => name === `process ${pipeline.names.TOPIC_SUBMISSIONS}`))
})

/** The bulk request of a record: below it, or linked where another record was the first. */
async function bulkOf(record: ReceivedSpan): Promise<ReceivedSpan> {
  const [link] = record.links ?? []
  if (link === undefined) return await childOf(record, 'bulk')
  await eventually(() => receiver.spans().some(({ spanId }) => spanId === link.spanId))
  const bulk = receiver.spans().find(({ spanId }) => spanId === link.spanId)
  if (bulk === undefined) throw new Error('the bulk request is gone')
  return bulk
}

test('a trace leads from a request to its calls of Redis and Elasticsearch', async () => {
  await pipeline.untilApplied(api, team)
  const { status } = await fetch(`${api.url}/api/v1/forms?titleContains=Product%20Knowledge`, {
    headers: { authorization: `Bearer ${pipeline.keyOf(team)}`, traceparent: traceparent(ofClient) },
  })
  expect(status).toBe(200)
  const served = await childOf(ofClient, 'GET /api/v1/forms')
  expect(attributeOf(served, 'http.route')).toBe('/api/v1/forms')
  expect(attributeOf(served, 'http.response.status_code')).toBe(200)
  await childOf(served, 'redis evalsha')
  const search = await childOf(served, 'elasticsearch search')
  expect(attributeOf(search, 'http.response.status_code')).toBe(200)
})

test('requests of operators are not traced, and no span has a key, a search text or personal data', async () => {
  await fetch(`${api.adminUrl}/metrics`)
  await fetch(`${api.url}/api/v1/records/${submissionId}?key=${pipeline.keyOf(team)}`, {
    headers: { authorization: 'Bearer rqp_acct_wrong', 'user-agent': 'curl/of-ada' },
  })
  await fetch(`${api.url}/${pipeline.keyOf(team)}`)
  const refused = (): readonly ReceivedSpan[] =>
    receiver.spans().filter((span) => attributeOf(span, 'http.response.status_code') === 401)
  for (const route of ['/api/v1/records/:id', undefined])
    await eventually(() => refused().some((span) => attributeOf(span, 'http.route') === route))
  const text = receiver.text()
  for (const secret of [...secrets, pipeline.keyOf(team)])
    expect([secret, text.includes(secret)]).toEqual([secret, false])
  const adminPort = Number(new URL(api.adminUrl).port)
  expect(receiver.spans().filter((span) => attributeOf(span, 'server.port') === adminPort)).toEqual([])
})

test('exported metrics have the values that the admin port serves', async () => {
  const scraped = await (await fetch(`${api.adminUrl}/metrics`)).text()
  const families = [...scraped.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name)
  const exported = (process: string) =>
    receiver.exports().findLast((samples) => samples.some(({ name }) => name === process)) ?? []
  const [ofApi, ofIndexer] = ['tidemark_http_requests_waiting', 'tidemark_records_total'] as const
  const indexed = await indexer.metric(ofIndexer, 'outcome="indexed"')
  expect(indexed).toBeGreaterThanOrEqual(2)
  await eventually(() => {
    const samples = exported(ofIndexer).filter(({ name, kind }) => name === ofIndexer && kind === 'sum')
    const told = samples.filter(({ labels }) => labels['outcome'] === 'indexed')
    return told.reduce((sum, { value }) => sum + value, 0) === indexed
  })
  const names = new Set(exported(ofApi).map(({ name }) => name))
  const withSamples = families.filter((name) => new RegExp(`^${name}(_bucket)?[{ ]`, 'm').test(scraped))
  expect(withSamples.filter((name) => name !== undefined && !names.has(name))).toEqual([])
  const histograms = exported(ofApi).filter(({ kind }) => kind === 'histogram')
  expect(histograms.length).toBeGreaterThan(0)
  const counted = (bucketCounts: readonly number[]): number => bucketCounts.reduce((sum, each) => sum + each, 0)
  expect(histograms.filter(({ value, bucketCounts }) => counted(bucketCounts) !== value)).toEqual([])
})

test('metrics are exported also when traces are off', async () => {
  const own = { OTEL_TRACES_EXPORTER: 'none', OTEL_SERVICE_NAME: 'metrics-alone' }
  const untraced = await pipeline.startApi({ ...tracing, ...own })
  const traceId = 'e'.repeat(32)
  await fetch(`${untraced.url}/api/v1/forms`, { headers: { traceparent: traceparent({ ...ofClient, traceId }) } })
  const exports = (): number => receiver.text().split('"metrics-alone"').length
  const before = exports()
  // Spans are sent more often.
  await eventually(() => exports() > before + 1)
  expect(receiver.spans().filter((span) => span.traceId === traceId)).toEqual([])
})
