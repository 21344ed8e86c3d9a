import { type TestAnswer, useApi } from '../support/api.ts'
import { formEntity, opaque, submissionEntity } from '../support/entities.ts'

const [team, otherTeam] = ['team-1', 'team-2']
const summaryOfForms = 'id title scene language publicToken shareUrl localization isActive createdAt updatedAt'

const at = '"2026-01-01T00:00:00Z"'

const api = useApi({
  teams: [team, otherTeam],
  forms: [
    ...['parts', 'A.b_c:d-9'].map((id) => ({ team, id, entity: formEntity({ id }) })),
    { team: otherTeam, id: 'foreign', entity: formEntity({ id: 'foreign' }) },
    { team, id: 'deleted', entity: null },
    {
      team,
      id: 'opaque',
      entity: `{"id":"opaque","title":"Opaque","scene":"outcome_quiz","createdAt":${at},"updatedAt":${at},
        "localization":${opaque},"systemText":${opaque},"fields":[${opaque},${opaque}],"report":${opaque}}`,
    },
  ],
  submissions: [
    { team: otherTeam, id: 'foreign', entity: submissionEntity({ id: 'foreign' }) },
    { team, id: 'deleted', entity: null },

    {
      team,
      id: 'opaque',
      entity: `{"id":"opaque","formId":"form-2","serialNumber":9007199254740991,"submittedAt":${at},"updatedAt":${at},
        "data":${opaque},"result":{"status":"completed","score":1.50},"examinee":{"id":"m2","customData":${opaque}},
        "reportResult":{"dimensionAnalysis":{"radar":[${opaque}],"items":[${opaque}]},"outcome":{"ranking":${opaque}}}}`,
    },
  ],
})

const get = (target: string): Promise<TestAnswer> => api.get(`/api/v1${target}`)
const read = async (target: string): Promise<Record<string, unknown>> => api.read(`/api/v1${target}`)

test.each([
  ['', 'fields report'],
  ['?includeFields=TRUE&includeReport=true', 'fields report'],
  ['?includeFields=false', 'report'],
  ['?includeReport=False', 'fields'],
  ['?includeFields=false&includeReport=false', ''],
])('a form with %p has the summary, description, layout, systemText and %p', async (query, parts) => {
  const keys = Object.keys(await read(`/forms/opaque${query}`)).join(' ')
  expect(keys).toBe(`${summaryOfForms} description layout systemText ${parts}`.trim())
})

test.each([
  ['/forms', [`"localization":${opaque},`]],
  ['/forms/opaque', ['localization', 'systemText', 'report'].map((name) => `"${name}":${opaque}`)],
  ['/forms/opaque?includeReport=false', [`"fields":[${opaque},${opaque}]`]],
  ['/records', [`"data":${opaque}`, `"customData":${opaque}`, '"serialNumber":9007199254740991', '"score":1.50']],
  ['/records/opaque', [`"data":${opaque}`, `"radar":[${opaque}]`, `"items":[${opaque}]`, `"ranking":${opaque}`]],
])('%s has opaque parts and numbers as the producer sent them', async (target, parts) => {
  const { text } = await get(target)
  for (const part of parts) expect(text).toContain(part)
})

test('an item is found by an id of any allowed character, percent-encoded or not', async () => {
  for (const id of ['A.b_c:d-9', 'A%2Eb%5Fc%3Ad%2D9'])
    expect((await get(`/forms/${id}`)).json).toMatchObject({ id: 'A.b_c:d-9' })
})

test.each([
  ['does not exist', 'unknown'],
  ["is another team's", 'foreign'],
  ['was deleted', 'deleted'],
  ['has a malformed id: a slash', 'team-1%2Fparts'],
  ['has a malformed id: broken percent-encoding', '%E0%A4%A'],
  ['has a malformed id: a control character', '%00'],
  ['has a malformed id: dots', '..'],
])('an item that %s gets the same 404', async (_why, id) => {
  for (const what of ['form', 'record']) {
    const { status, text } = await get(`/${what}s/${id}`)
    expect([status, text]).toEqual([404, `{"error":{"code":"not_found","message":"no such ${what}"}}`])
  }
})
