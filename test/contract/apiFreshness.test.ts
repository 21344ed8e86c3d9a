import type { Instant } from '../../src/core/model/instant.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { useApi } from '../support/useApi.ts'

const team = 'team-1'
const watermark = '2026-11-21T10:00:00.123Z' as Instant
const lists = ['/api/v1/forms', '/api/v1/records']
const endpoints = [...lists, '/api/v1/forms/early', '/api/v1/records/early']

const changes = [
  { id: 'early', appendedAt: '2026-11-20T00:00:00.000Z' },
  { id: 'noon', appendedAt: '2026-11-20T12:00:00.500Z' },
  { id: 'late', appendedAt: '2026-11-20T23:59:59.999Z' },
  { id: 'next-day', appendedAt: '2026-11-21T00:00:00.000Z' },
]
const createdAt = '2020-01-01T00:00:00Z'
const api = useApi({
  forms: changes.map((change) => ({ ...change, team, entity: formEntity({ ...change, createdAt }) })),
  submissions: changes.map((change) => ({
    ...change,
    team,
    entity: submissionEntity({ ...change, submittedAt: createdAt }),
  })),
})
beforeEach(() => api.replica.publishWatermark(watermark))

describe.each(endpoints)('Replica-Watermark of %s', (endpoint) => {
  test('is the watermark, on GET and HEAD', async () => {
    for (const method of ['GET', 'HEAD'])
      expect((await api.get(endpoint, { method })).headers['replica-watermark']).toBe(watermark)
  })

  test('is left out when there is no watermark', async () => {
    await api.replica.publishWatermark(null)
    const { status, headers } = await api.get(endpoint)
    expect(status).toBe(200)
    expect(headers['replica-watermark']).toBeUndefined()
  })
})

test('answers that are not 2xx have no Replica-Watermark', async () => {
  for (const target of ['/api/v1/forms/unknown', '/api/v1/forms?limit=0', '/unknown'])
    expect((await api.get(target)).headers['replica-watermark']).toBeUndefined()
  expect((await api.send('/api/v1/forms')).headers['replica-watermark']).toBeUndefined()
})

describe.each(lists)('windows of change on %s', (list) => {
  const ids = async (query: string): Promise<string[]> => {
    const { status, json } = await api.get(`${list}?${query}`)
    expect(status).toBe(200)
    return (json as { items: { id: string }[] }).items.map(({ id }) => id)
  }

  // Created at the same instant, so the ids order them.
  test.each([
    ['changedSince is inclusive', 'changedSince=2026-11-20T23:59:59.999Z', ['next-day', 'late']],
    ['changedUntil is inclusive', 'changedUntil=2026-11-20T12:00:00.500Z', ['noon', 'early']],
    ['a bare date is the whole day', 'changedSince=2026-11-20&changedUntil=2026-11-20', ['noon', 'late', 'early']],
    ['a + that arrived as a space is read', 'changedSince=2026-11-21T01:00:00+01:00', ['next-day']],
    ['finer digits move changedSince up', 'changedSince=2026-11-20T12:00:00.5001&changedUntil=2026-11-20', ['late']],
    ['finer digits move changedUntil down', 'changedUntil=2026-11-20T12:00:00.5009Z', ['noon', 'early']],
    ['changedSince after changedUntil is empty', 'changedSince=2026-11-21&changedUntil=2026-11-20', []],
    ['changedSince in the future is empty', 'changedSince=9998-01-01', []],
  ])('%s', async (_rule, query, expected) => {
    expect(await ids(query)).toEqual(expected)
  })

  test('an update moves into the window of its change, whatever its created time', async () => {
    const moving = { team: `moving${list.replaceAll('/', '-')}`, id: 'moving' }
    const movingKey = await api.replica.storeKey(moving.team)
    const total = async (query: string): Promise<unknown> =>
      (await api.send(`${list}?${query}`, { key: movingKey })).json
    for (const [revision, appendedAt] of ['2026-11-20T00:00:00.000Z', '2026-11-22T00:00:00.000Z'].entries()) {
      const change = { ...moving, revision: revision + 1, appendedAt }
      await api.replica.storeForms({ ...change, entity: formEntity({ id: 'moving' }) })
      await api.replica.storeSubmissions({ ...change, entity: submissionEntity({ id: 'moving' }) })
      expect(await total(`changedSince=${appendedAt}`)).toMatchObject({ totalDocs: 1 })
    }
    expect(await total('changedUntil=2026-11-21')).toMatchObject({ totalDocs: 0 })
  })

  test.each(['changedSince', 'changedUntil'])('%s without a watermark gives 503', async (name) => {
    await api.replica.publishWatermark(null)
    const { status, headers, json } = await api.get(`${list}?${name}=2026-11-20`)
    expect(status).toBe(503)
    expect(headers['retry-after']).toMatch(/^\d+$/)
    expect(json).toEqual({ error: { code: 'service_unavailable', message: expect.any(String) } })
  })
})
