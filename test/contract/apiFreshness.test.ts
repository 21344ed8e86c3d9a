import type { Instant } from '../../src/core/model/instant.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { useApi } from '../support/useApi.ts'

const team = 'team-1'
const watermark = '2026-11-21T10:00:00.123Z' as Instant
const lists = ['/api/v1/forms', '/api/v1/records']

const api = useApi({
  forms: [{ team, id: 'a', entity: formEntity({ id: 'a' }) }],
  submissions: [{ team, id: 'a', entity: submissionEntity({ id: 'a' }) }],
})
beforeEach(() => api.replica.publishWatermark(watermark))

describe.each([...lists, '/api/v1/forms/a', '/api/v1/records/a'])('Replica-Watermark of %s', (endpoint) => {
  test('is the watermark, on GET and HEAD', async () => {
    for (const method of ['GET', 'HEAD'])
      expect((await api.get(endpoint, { method })).headers['replica-watermark']).toBe(watermark)
  })

  test('is left out when there is no watermark', async () => {
    await api.replica.publishWatermark(null)
    const { status, headers } = await api.get(endpoint)
    expect([status, headers['replica-watermark']]).toEqual([200, undefined])
  })
})

test('answers that are not 2xx have no Replica-Watermark', async () => {
  for (const target of ['/api/v1/forms/unknown', '/api/v1/forms?limit=0', '/unknown'])
    expect((await api.get(target)).headers['replica-watermark']).toBeUndefined()
  expect((await api.send('/api/v1/forms')).headers['replica-watermark']).toBeUndefined()
})

test.each(lists)('a window of change on %s without a watermark gives 503', async (list) => {
  await api.replica.publishWatermark(null)
  for (const name of ['changedSince', 'changedUntil']) {
    const { status, headers, json } = await api.get(`${list}?${name}=2026-11-20`)
    expect([status, headers['retry-after']]).toEqual([503, expect.stringMatching(/^\d+$/)])
    expect(json).toEqual({ error: { code: 'service_unavailable', message: expect.any(String) } })
  }
})
