import { request } from 'undici'
import { useReplica } from '../support/api.ts'
import { formEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { send, type TestAnswer } from '../support/inProcess.ts'
import { useStarted } from '../support/lifecycle.ts'
import { killPrograms, type Program, probe, startProgram, untilReady, untilReported } from '../support/programs.ts'
import { startRelay } from '../support/relay.ts'

const list = '/api/v1/forms'

const filled = useReplica({
  forms: [{ team: 'team-1', id: 'a', entity: formEntity({ id: 'a' }) }],
  watermark: '2026-11-21T10:00:00.000Z',
})
const engines = {
  elasticsearch: useStarted('the way to Elasticsearch', () => startRelay(process.env['ELASTICSEARCH_URL'])),
  redis: useStarted('the way to Redis', () => startRelay(process.env['REDIS_URL'])),
}
afterEach(() => {
  killPrograms()
  for (const engine of Object.values(engines)) engine.restore()
})

const startApi = (prefix = filled.replica.prefix): Promise<Program> =>
  startProgram('api', {
    ...{ INDEX_PREFIX: prefix, RATE_LIMIT_PER_MINUTE: '1000000' },
    ...{ ELASTICSEARCH_URL: engines.elasticsearch.url, REDIS_URL: engines.redis.url },
  })

/** Asks what a Service of Kubernetes leads to: nobody but the pods that are ready. */
async function askService(pods: readonly Program[], target: string, headers: Readonly<Record<string, string>> = {}) {
  const probed = await Promise.all(pods.map((pod) => probe(pod, 'readyz')))
  const endpoints = pods.filter((_, at) => probed[at]?.code === 200)
  const ask = ({ url }: Program): Promise<TestAnswer> =>
    send(Number(new URL(url).port), target, { key: filled.keyOf('team-1'), headers })
  return Promise.all(endpoints.map(ask))
}

const unavailable = {
  status: 503,
  headers: expect.objectContaining({ 'retry-after': '5' }),
  json: { error: { code: 'service_unavailable', message: expect.any(String) } },
}

test('an outage of an engine removes no API from its Service: requests that need the engine get 503 as JSON, and others are answered', async () => {
  const pods = await Promise.all([startApi(), startApi()])
  await Promise.all(pods.map(untilReady))
  const before = await askService(pods, list)
  const etag = before[0]?.headers['etag'] ?? ''
  expect(before.map(({ status }) => status)).toEqual([200, 200])

  engines.elasticsearch.cut()
  await Promise.all(pods.map((pod) => untilReported(pod, 'elasticsearch', /./)))
  for (const pod of pods) expect(await probe(pod, 'readyz')).toMatchObject({ code: 200, body: { status: 'ready' } })
  expect((await askService(pods, list)).map(({ text }) => text)).toEqual(before.map(({ text }) => text))
  const unchanged = await askService(pods, list, { 'if-none-match': etag })
  expect(unchanged.map(({ status }) => status)).toEqual([304, 304])
  expect(await askService(pods, `${list}?limit=7`)).toMatchObject([unavailable, unavailable])

  engines.redis.cut()
  await Promise.all(pods.map((pod) => untilReported(pod, 'redis', /./)))
  expect(await askService(pods, list)).toMatchObject([unavailable, unavailable])

  for (const engine of Object.values(engines)) engine.restore()
  await eventually(async () => (await askService(pods, `${list}?limit=7`)).every(({ status }) => status === 200))
})

test('an API that starts during an outage joins its Service', async () => {
  engines.elasticsearch.cut()
  const api = await startApi()
  await eventually(() =>
    probe(api, 'readyz').then(
      ({ code }) => code === 200,
      () => false,
    ),
  )
  expect(await askService([api], list)).toMatchObject([unavailable])
})

describe('An API whose engines answer, but do not let it work yet,', () => {
  const incomplete = useReplica({ isComplete: false })

  test('is not ready, so that a rollout waits, until it can answer requests', async () => {
    const api = await startApi(incomplete.replica.prefix)
    await untilReported(api, 'process', /^has not been able to answer yet/)
    expect((await probe(api, 'readyz')).code).toBe(503)
    expect((await request(api.url + list, { headers: { authorization: 'Bearer rqp_acct_x' } })).statusCode).toBe(503)
    await incomplete.replica.completeAccountKeys()
    await untilReady(api)
  })
})

test('a process listens only once it can answer', async () => {
  const api = await startApi()
  const port = Number(new URL(api.url).port)
  let first: TestAnswer | undefined
  await eventually(async () => {
    first = await send(port, list, { key: filled.keyOf('team-1') }).catch(() => undefined)
    return first !== undefined
  })
  expect(first?.status).toBe(200)
})
