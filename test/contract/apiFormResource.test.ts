import { formEntity, opaque } from '../support/entities.ts'
import { useApi } from '../support/useApi.ts'

const team = 'team-1'

const api = useApi()

const read = async (target: string): Promise<{ text: string; json: Record<string, unknown> }> => {
  const { status, text, json } = await api.get(`/api/v1${target}`)
  expect(status).toBe(200)
  return { text, json: json as Record<string, unknown> }
}

const summaryFields = [
  'id',
  'title',
  'scene',
  'language',
  'publicToken',
  'shareUrl',
  'localization',
  'isActive',
  'createdAt',
  'updatedAt',
]

describe('form', () => {
  beforeAll(() =>
    api.replica.storeForms(
      { team, id: 'full', entity: formEntity({ id: 'full' }) },
      {
        team,
        id: 'bare',
        entity: {
          id: 'bare',
          title: 'Bare',
          scene: 'scored_quiz',
          createdAt: '2026-02-01T10:00:00+02:00',
          updatedAt: '2026-02-01T08:00:00Z',
        },
      },
      {
        team,
        id: 'opaque',
        entity: `{"id":"opaque","title":"Opaque","scene":"outcome_quiz","createdAt":"2026-01-01T00:00:00Z",
          "updatedAt":"2026-01-01T00:00:00Z","localization":${opaque},"systemText":${opaque},
          "fields":[${opaque},${opaque}],"report":${opaque}}`,
      },
    ),
  )

  test('the list envelope holds totalDocs, page, limit and items', async () => {
    const { json } = await read('/forms')
    expect(Object.keys(json)).toEqual(['totalDocs', 'page', 'limit', 'items'])
    expect(json).toMatchObject({ totalDocs: 3, page: 1, limit: 20 })
    expect((json['items'] as { id: string }[]).map(({ id }) => id)).toEqual(['full', 'bare', 'opaque'])
  })

  test('a form summary holds exactly the documented fields', async () => {
    const { json } = await read('/forms')
    const [full] = json['items'] as Record<string, unknown>[]
    expect(Object.keys(full ?? {})).toEqual(summaryFields)
    expect(full).toEqual({
      id: 'full',
      title: 'Product Knowledge Quiz',
      scene: 'knowledge_quiz',
      language: 'en_US',
      publicToken: 'a1B2c3',
      shareUrl: 'https://quiz.example/f/a1B2c3',
      localization: { de_DE: { title: 'Produktwissen' } },
      isActive: true,
      createdAt: '2026-03-01T09:30:00.000Z',
      updatedAt: '2026-03-02T10:00:00.250Z',
    })
  })

  test('a form holds the summary and description, layout, systemText, fields, report', async () => {
    const { json } = await read('/forms/full')
    expect(Object.keys(json)).toEqual([...summaryFields, 'description', 'layout', 'systemText', 'fields', 'report'])
    expect(json).toEqual(formEntity({ id: 'full' }))
  })

  test('nullable fields that were not sent are null, and timestamps are UTC with milliseconds', async () => {
    const { json } = await read('/forms/bare')
    expect(json).toMatchObject({ localization: null, description: null, systemText: null })
    expect(json).toMatchObject({ createdAt: '2026-02-01T08:00:00.000Z', updatedAt: '2026-02-01T08:00:00.000Z' })
  })

  test('localization comes back in the list as it was sent', async () => {
    const { text } = await read('/forms')
    expect(text).toContain(`"localization":${opaque},`)
  })

  test('localization, systemText, fields and report come back as they were sent', async () => {
    const { text } = await read('/forms/opaque')
    for (const member of ['localization', 'systemText', 'report']) expect(text).toContain(`"${member}":${opaque}`)
    expect(text).toContain(`"fields":[${opaque},${opaque}]`)
  })

  test('leaving a part out leaves the other parts as they were sent', async () => {
    const { text } = await read('/forms/opaque?includeReport=false')
    expect(text).toContain(`"fields":[${opaque},${opaque}]`)
    expect(text).not.toContain('"report"')
  })
})
