import type { RequestListener } from 'node:http'
import type { Instant } from '../../src/core/model/instant.ts'
import { startTestApi, type TestAnswer, type TestApi, useReplica } from '../support/api.ts'
import { closing } from '../support/closing.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { answer, emptySearch, type FakeElasticsearch, startFakeElasticsearch } from '../support/fakeElasticsearch.ts'
import { useStarted } from '../support/lifecycle.ts'
import { type Relay, startRelay } from '../support/relay.ts'

const team = 'team-1'
const lists = ['/api/v1/forms', '/api/v1/records', '/api/v1/forms?titleContains=quiz']
const details = ['/api/v1/forms/one', '/api/v1/records/one']
const feeds = ['/api/v1/form-changes', '/api/v1/record-changes']
const endpoints = [...lists, ...details, ...feeds]

const { replica, keyOf } = useReplica({
  forms: [{ team, id: 'one', entity: formEntity({ id: 'one' }) }],
  submissions: [{ team, id: 'one', entity: submissionEntity({ id: 'one' }) }],
  fill: (replica) => replica.disturb('flushed'),
})
const close = closing()

const settings = (more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> => {
  return { INDEX_PREFIX: replica.prefix, RATE_LIMIT_PER_MINUTE: '100000', ...more }
}

const expectUnavailable = ({ status, headers, json }: TestAnswer): void => {
  expect(status).toBe(503)
  expect(json).toEqual({ error: { code: 'service_unavailable', message: expect.any(String) } })
  expect(headers['retry-after']).toMatch(/^[1-9]\d*$/)
  expect(headers['replica-watermark']).toBeUndefined()
}

/** An API that reaches one of its engines through a relay. */
async function startBehindRelay(engine: 'REDIS_URL' | 'ELASTICSEARCH_URL'): Promise<{ relay: Relay; api: TestApi }> {
  const relay = close(await startRelay(process.env[engine]))
  return { relay, api: close(await startTestApi({ settings: settings({ [engine]: relay.url }) })) }
}

test('without Redis a good or a bad key gets 503 until it is back, and a text that is no account key gets 401', async () => {
  const { relay, api } = await startBehindRelay('REDIS_URL')
  relay.cut()
  for (const endpoint of endpoints)
    for (const key of [keyOf(team), 'rqp_acct_unknown']) expectUnavailable(await api.send(endpoint, { key }))
  const silent = expect.stringContaining('redis: does not answer')
  expect(await api.readiness()).toEqual([silent, 'account keys: cannot be read from Redis'])
  expect((await api.send('/api/v1/forms')).status).toBe(401)
  expect((await api.send('/api/v1/forms', { key: 'rqp_live_1' })).status).toBe(401)
  expect((await api.send('/api/v1/forms', { method: 'OPTIONS' })).status).toBe(204)
  relay.restore()
  for (const endpoint of endpoints)
    await eventually(async () => (await api.send(endpoint, { key: keyOf(team) })).status === 200)
})

test('without Elasticsearch every endpoint that needs it gives 503 until it is back, and the others answer', async () => {
  const { relay, api } = await startBehindRelay('ELASTICSEARCH_URL')
  relay.cut()
  for (const endpoint of endpoints) expectUnavailable(await api.send(endpoint, { key: keyOf(team) }))
  expect(await api.readiness()).toEqual([expect.stringContaining('unreachable')])
  expect((await api.send('/api/v1/forms')).status).toBe(401)
  expect((await api.send('/api/v1/forms?limit=0', { key: keyOf(team) })).status).toBe(400)
  expect((await api.send('/api/v1/forms/a%20b', { key: keyOf(team) })).status).toBe(404)
  relay.restore()
  for (const endpoint of endpoints)
    await eventually(async () => (await api.send(endpoint, { key: keyOf(team) })).status === 200)
  expect(await api.readiness()).toEqual([])
})

test.each([
  ['forms', '/api/v1/forms'],
  ['submissions', '/api/v1/records'],
  ['form-details', '/api/v1/forms/one'],
  ['submission-details', '/api/v1/records/one'],
  ['submissions', '/api/v1/record-counts?by=day'],
] as const)('without the index of %s, %s gives 503, not 404', async (kind, endpoint) => {
  const api = close(await startTestApi({ settings: settings() }))
  await replica.dropAlias(kind)
  await replica.forgetIndices()
  try {
    expectUnavailable(await api.send(endpoint, { key: keyOf(team) }))
    expect(await api.readiness()).toEqual([expect.stringContaining('missing-index')])
  } finally {
    await replica.restoreAlias(kind)
  }
  expect((await api.send(endpoint, { key: keyOf(team) })).status).toBe(200)
})

const breaksOff: RequestListener = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
  response.write('{"took":1,')
  response.socket?.end()
}

describe('when Elasticsearch answers wrongly', () => {
  const fake = useStarted('Elasticsearch', startFakeElasticsearch)
  const api = useStarted('the API', () => startTestApi({ settings: settings({ ELASTICSEARCH_URL: fake.url }) }))

  test.each<[string, Parameters<FakeElasticsearch['answerWith']>[0], readonly string[]]>([
    [
      'of which a shard is missing',
      answer(200, { ...emptySearch, _shards: { total: 2, failed: 1 } }),
      [...lists, ...feeds],
    ],
    ['with status 503', answer(503, { error: { type: 'some_exception' }, status: 503 }), endpoints],
    // It is asked again for a while after it was busy.
    ['with status 429', answer(429, { error: { type: 'some_exception' }, status: 429 }), endpoints.slice(0, 1)],
    ['of another server', (_request, response) => response.end('<html>'), endpoints],
    ['that breaks off', breaksOff, endpoints],
  ])('an answer %s gives 503, never a page', async (_what, answering, asked) => {
    fake.answerWith(answering)
    for (const endpoint of asked) expectUnavailable(await api.send(endpoint, { key: keyOf(team) }))
  })

  test('a bug of the API gives 500 internal_error without internals, and a log line with the same X-Request-Id', async () => {
    fake.answerWith(answer(400, { error: { type: 'parsing_exception', reason: 'secret reason' }, status: 400 }))
    const { status, headers, json } = await api.send('/api/v1/forms?titleContains=secret', { key: keyOf(team) })
    expect(status).toBe(500)
    expect(json).toEqual({ error: { code: 'internal_error', message: expect.not.stringContaining('parsing') } })
    const ofRequest = api.logLines.filter(({ requestId }) => requestId === headers['x-request-id'])
    const logged = ofRequest.find(({ level }) => Number(level) === 50)
    expect(JSON.stringify(logged)).toContain('parsing_exception')
    expect(JSON.stringify(logged)).not.toContain('secret')
  })

  test('the watermark is read before the query', async () => {
    const [before, after] = ['2026-11-21T10:00:00.000Z', '2026-11-21T11:00:00.000Z'] as [Instant, Instant]
    await replica.publishWatermark(before)
    fake.answerWith((request, response) => {
      replica.publishWatermark(after).then(() => answer(200, emptySearch)(request, response), response.destroy)
    })
    expect((await api.send('/api/v1/forms', { key: keyOf(team) })).headers['replica-watermark']).toBe(before)
    await replica.publishWatermark(null)
  })

  test('the query of a client that disconnects is cancelled', async () => {
    // One whose Elasticsearch was never busy: else it may ask one query at a time.
    const api = close(await startTestApi({ settings: settings({ ELASTICSEARCH_URL: fake.url }) }))
    const asked: string[] = []
    const ended: string[] = []
    fake.answerWith((request, response) => {
      const [, list = ''] = /-(forms|submissions)(?:-v[\d.]+-\d+)?\/_m?search\?/.exec(request.url ?? '') ?? []
      if (list === '') return answer(200, emptySearch)(request, response)
      asked.push(list)
      response.once('close', () => ended.push(list))
    })
    // Without a cancellation the query that was asked first would run out of time first.
    const clients = { forms: new AbortController(), records: new AbortController() }
    const sent = Promise.allSettled(
      Object.entries(clients).map(async ([list, { signal }], at) => {
        await eventually(() => asked.length >= at)
        return await api.send(`/api/v1/${list}`, { key: keyOf(team), signal })
      }),
    )
    await eventually(() => asked.includes('submissions'))
    clients.records.abort()
    await eventually(() => ended.length > 0)
    expect(ended).toEqual(['submissions'])
    clients.forms.abort()
    for (const each of await sent) expect(each).toMatchObject({ reason: { name: 'AbortError' } })
    await eventually(() => api.logLines.some(({ aborted }) => aborted === true))
  })
})

test('while account keys are lost and not yet rebuilt, every key gets 503, never 401', async () => {
  const api = close(await startTestApi({ settings: settings() }))
  await replica.loseAccountKeys()
  for (const endpoint of endpoints) expectUnavailable(await api.send(endpoint, { key: keyOf(team) }))
  expectUnavailable(await api.send('/api/v1/forms', { key: 'rqp_acct_unknown' }))
  expect(await api.readiness()).toEqual(['account keys: is not complete'])
  await replica.completeAccountKeys()
  expect((await api.send('/api/v1/forms', { key: keyOf(team) })).status).toBe(200)
  expect((await api.send('/api/v1/forms', { key: 'rqp_acct_unknown' })).status).toBe(401)
})
