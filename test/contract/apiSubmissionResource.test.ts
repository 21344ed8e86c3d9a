import { opaque, submissionEntity } from '../support/entities.ts'
import { useApi } from '../support/useApi.ts'

const team = 'team-1'

const api = useApi()

const read = async (target: string): Promise<{ text: string; json: Record<string, unknown> }> => {
  const { status, text, json } = await api.get(`/api/v1${target}`)
  expect(status).toBe(200)
  return { text, json: json as Record<string, unknown> }
}

describe('submission', () => {
  beforeAll(() =>
    api.replica.storeSubmissions(
      { team, id: 'full', entity: submissionEntity({ id: 'full' }) },
      {
        team,
        id: 'anonymous',
        entity: submissionEntity({
          id: 'anonymous',
          submittedAt: '2026-03-01T00:00:00Z',
          examinee: null,
          metadata: {},
          reportResult: null,
        }),
      },
      {
        team,
        id: 'opaque',
        entity: `{"id":"opaque","formId":"form-2","serialNumber":9007199254740993,"submittedAt":"2026-02-01T00:00:00Z",
          "updatedAt":"2026-02-01T00:00:00Z","data":${opaque},"result":{"status":"completed","score":1.50},
          "examinee":{"id":"m2","customData":${opaque}},
          "reportResult":{"dimensionAnalysis":{"radar":[${opaque}],"items":[${opaque}]},"outcome":{"ranking":${opaque}}}}`,
      },
    ),
  )

  const summary = async (id: string): Promise<Record<string, unknown>> => {
    const { json } = await read('/records')
    return (json['items'] as Record<string, unknown>[]).find((item) => item['id'] === id) ?? {}
  }

  test('a submission summary holds exactly the documented fields', async () => {
    const full = await summary('full')
    expect(Object.keys(full)).toEqual([
      'id',
      'serialNumber',
      'formId',
      'shareToken',
      'reportUrl',
      'submittedAt',
      'updatedAt',
      'examinee',
      'metadata',
      'data',
      'result',
    ])
    expect(full).toMatchObject({
      id: 'full',
      serialNumber: 17,
      formId: 'form-1',
      shareToken: 's7T8u9',
      reportUrl: 'https://quiz.example/r/s7T8u9',
      submittedAt: '2026-04-01T12:00:00.000Z',
      updatedAt: '2026-04-01T12:05:00.500Z',
      data: { q1: 'A', q2: ['B', 'C'] },
    })
  })

  test('the examinee of a summary holds id, examineeId, email, name, customData', async () => {
    expect((await summary('full'))['examinee']).toEqual({
      id: 'm1',
      examineeId: 'e1',
      email: 'ada@example.com',
      name: 'Ada',
      customData: null,
    })
  })

  test('the examinee of an anonymous submission is null', async () => {
    expect((await summary('anonymous'))['examinee']).toBeNull()
    expect((await read('/records/anonymous')).json['examinee']).toBeNull()
  })

  test('the metadata of a summary holds UTM fields and referrer, not ip and userAgent', async () => {
    expect((await summary('full'))['metadata']).toEqual({
      utmSource: 'newsletter',
      utmMedium: 'email',
      utmCampaign: 'spring',
      utmTerm: null,
      utmContent: null,
      referrer: 'https://example.com/',
    })
  })

  test('metadata that was not sent is null', async () => {
    expect((await summary('anonymous'))['metadata']).toEqual({
      utmSource: null,
      utmMedium: null,
      utmCampaign: null,
      utmTerm: null,
      utmContent: null,
      referrer: null,
    })
  })

  test('the result of a summary holds status, score, maxScore, level, outcomeCode, outcomeName', async () => {
    expect((await summary('full'))['result']).toEqual({
      status: 'completed',
      score: 80,
      maxScore: 100,
      level: 'good',
      outcomeCode: null,
      outcomeName: null,
    })
  })

  test('a single submission has ip and userAgent, a smaller examinee, and reportResult instead of result', async () => {
    const { json } = await read('/records/full')
    const { result: _result, ...sent } = submissionEntity({ id: 'full' })
    expect(json).toEqual({ ...sent, examinee: { id: 'm1', email: 'ada@example.com', name: 'Ada' } })
    expect(Object.keys(json).at(-1)).toBe('reportResult')
  })

  test('reportResult holds status, overallAnalysis, dimensionAnalysis, outcome, aiSuggestion', async () => {
    const { json } = await read('/records/full')
    expect(json['reportResult']).toEqual({
      status: 'completed',
      overallAnalysis: { score: 80, maxScore: 100, level: 'good', summary: 'Well done', suggestions: 'Read on' },
      dimensionAnalysis: {
        title: 'Dimensions',
        radar: [{ name: 'accuracy', value: 0.8 }],
        items: [{ name: 'accuracy' }],
      },
      outcome: { code: null, name: null, ranking: null },
      aiSuggestion: { status: 'completed', content: 'Keep going' },
    })
  })

  test('data, customData and numbers come back in the list as they were sent', async () => {
    const { text } = await read('/records')
    expect(text).toContain(`"data":${opaque}`)
    expect(text).toContain(`"customData":${opaque}`)
    expect(text).toContain('"serialNumber":9007199254740993')
    expect(text).toContain('"score":1.50')
  })

  test('data, radar, items and ranking come back as they were sent', async () => {
    const { text } = await read('/records/opaque')
    expect(text).toContain(`"data":${opaque}`)
    expect(text).toContain(`"radar":[${opaque}]`)
    expect(text).toContain(`"items":[${opaque}]`)
    expect(text).toContain(`"ranking":${opaque}`)
  })
})
