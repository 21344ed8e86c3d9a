import { opaque } from '../support/entities.ts'
import { useApi } from '../support/useApi.ts'

const team = 'team-1'
const summaryFields = 'id title scene language publicToken shareUrl localization isActive createdAt updatedAt'.split(
  ' ',
)

const api = useApi({
  forms: [
    {
      team,
      id: 'opaque',
      entity: `{"id":"opaque","title":"Opaque","scene":"outcome_quiz","createdAt":"2026-01-01T00:00:00Z",
        "updatedAt":"2026-01-01T00:00:00Z","localization":${opaque},"systemText":${opaque},
        "fields":[${opaque},${opaque}],"report":${opaque}}`,
    },
  ],
})

const read = async (target: string): Promise<string> => {
  const { status, text } = await api.get(`/api/v1${target}`)
  expect(status).toBe(200)
  return text
}

test('a list holds totalDocs, page, limit and items, whose fields come in the documented order', async () => {
  const json = JSON.parse(await read('/forms'))
  expect(Object.keys(json)).toEqual(['totalDocs', 'page', 'limit', 'items'])
  expect(Object.keys(json.items[0])).toEqual(summaryFields)
})

test('a form holds the summary and description, layout, systemText, fields, report', async () => {
  const own = ['description', 'layout', 'systemText', 'fields', 'report']
  expect(Object.keys(JSON.parse(await read('/forms/opaque')))).toEqual([...summaryFields, ...own])
})

test('localization, systemText, fields and report come back as they were sent', async () => {
  expect(await read('/forms')).toContain(`"localization":${opaque},`)
  const text = await read('/forms/opaque')
  for (const member of ['localization', 'systemText', 'report']) expect(text).toContain(`"${member}":${opaque}`)
  expect(text).toContain(`"fields":[${opaque},${opaque}]`)
})

test('leaving a part out leaves the other parts as they were sent', async () => {
  const text = await read('/forms/opaque?includeReport=false')
  expect(text).toContain(`"fields":[${opaque},${opaque}]`)
  expect(text).not.toContain('"report"')
})
