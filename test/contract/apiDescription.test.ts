import { type TeamId, teamList } from '../../src/core/model/ids.ts'
import type { TestAnswer } from '../support/api.ts'
import { closing } from '../support/closing.ts'
import { pointer, type SchemaJudge, schemaJudge } from '../support/description.ts'
import { formEntity, opaque, submissionEntity } from '../support/entities.ts'
import { useApi } from '../support/useApi.ts'

const team = 'team-1'
const at = '2026-01-01T00:00:00Z'

const api = useApi({
  forms: [
    { team, id: 'full', entity: formEntity({ id: 'full' }) },
    { team, id: 'bare', entity: { id: 'bare', title: '', scene: 'scored_quiz', createdAt: at, updatedAt: at } },
    {
      team,
      id: 'opaque',
      entity: formEntity({ id: 'opaque', localization: JSON.parse(opaque) as unknown, fields: [1, null, 'x', []] }),
    },
  ],
  submissions: [
    { team, id: 'full', entity: submissionEntity({ id: 'full' }) },
    {
      team,
      id: 'bare',
      entity: { id: 'bare', formId: 'f', submittedAt: at, updatedAt: at, result: { status: 'pending' } },
    },
    {
      team,
      id: 'hollow',
      entity: submissionEntity({
        id: 'hollow',
        examinee: { customData: [1] },
        metadata: {},
        reportResult: { overallAnalysis: {}, dimensionAnalysis: { radar: null }, outcome: { ranking: 1 } },
      }),
    },
    {
      team,
      id: 'unusual',
      entity: JSON.stringify(submissionEntity({ id: 'unusual', reportResult: { status: null } })).replace(
        '"serialNumber":17',
        '"serialNumber":1.7e1',
      ),
    },
  ],
  settings: { RATE_LIMIT_PER_MINUTE: '200' },
})
const close = closing()
let description: { components: { headers: object } }
let judge: SchemaJudge
beforeAll(async () => {
  description = (await api.send('/api/v1/openapi.json')).json as typeof description
  judge = schemaJudge(description)
})

const mediaOf = (path: string, status: number): string[] => [
  ...['paths', path, 'get', 'responses', String(status), 'content', 'application/json', 'schema'],
]
const resolve = (parts: readonly string[]): unknown =>
  parts.reduce<unknown>((value, part) => (value as Record<string, unknown> | undefined)?.[part], description)

/** Where the description holds the response; errors are named once for all operations. */
function responseAt(path: string, status: number): string[] {
  const inline = mediaOf(path, status).slice(0, 5)
  const { $ref } = resolve(inline) as { $ref?: string }
  return $ref === undefined ? inline : $ref.split('/').slice(1)
}

function expectDescribed(path: string, { status, headers, json }: TestAnswer): void {
  const response = responseAt(path, status)
  expect(judge.problems(pointer(...response, 'content', 'application/json', 'schema'), json)).toEqual([])
  const named = Object.keys((resolve(response) as { headers: object }).headers)
  for (const name of Object.keys(description.components.headers)) {
    const sent = headers[name.toLowerCase()]
    if (sent === undefined) continue
    expect(named).toContain(name)
    const { type } = resolve(['components', 'headers', name, 'schema']) as { type: string }
    const value = type === 'integer' ? Number(sent) : sent
    expect(judge.problems(pointer('components', 'headers', name, 'schema'), value)).toEqual([])
  }
  for (const name of named) {
    const { required } = resolve(['components', 'headers', name]) as { required?: true }
    if (required) expect(Object.keys(headers)).toContain(name.toLowerCase())
  }
}

describe('what the API answers is what its description says', () => {
  test.each([
    ['/forms', '/forms'],
    ['/forms', '/forms?limit=2&page=2&Limit=5'],
    ['/forms', '/forms?titleContains=nothing-like-it'],
    ['/forms/{id}', '/forms/full'],
    ['/forms/{id}', '/forms/bare'],
    ['/forms/{id}', '/forms/opaque?includeFields=false&includeReport=false'],
    ['/records', '/records'],
    ['/records/{id}', '/records/full'],
    ['/records/{id}', '/records/bare'],
    ['/records/{id}', '/records/hollow'],
    ['/records/{id}', '/records/unusual'],
    ['/record-counts', '/record-counts?by=hour&since=2026-01-01&timeZone=Europe/Berlin&Limit=5'],
    ['/record-counts', '/record-counts?by=form'],
    ['/record-counts', '/record-counts?by=status&since=9999-01-01'],
  ])('%s: %s', async (path, target) => {
    await api.replica.publishWatermark('2026-04-01T00:00:00.000Z' as never)
    const answer = await api.get(`/api/v1${target}`)
    expect(answer.status).toBe(200)
    expectDescribed(path, answer)
  })

  test.each([
    ['a parameter that breaks its rule', 400, '/forms', '/forms?limit=0', {}],
    ['one of two parameters that is known', 400, '/records', '/records?since=yesterday&Since=1', {}],
    ['a count of nothing', 400, '/record-counts', '/record-counts?timeZone=Nowhere', {}],
    ['a form that is not there', 404, '/forms/{id}', '/forms/unknown', {}],
    ['a record that is not there', 404, '/records/{id}', '/records/unknown', {}],
    ['another method', 405, '/forms', '/forms', { method: 'POST' }],
    ['a long URL', 414, '/forms', `/forms?titleContains=${'a'.repeat(9_000)}`, {}],
    ['a URL that is longer still', 414, '/forms', `/forms?titleContains=${'a'.repeat(40_000)}`, {}],
    ['long headers', 431, '/forms', '/forms', { headers: { cookie: 'a'.repeat(40_000) } }],
  ])('%s: %i', async (_what, status, path, target, request) => {
    const answer = await api.get(`/api/v1${target}`, { ...request })
    expect(answer.status).toBe(status)
    expectDescribed(path, answer)
  })

  test('without a key, with a bad one, with one that is used up', async () => {
    for (const request of [{}, { key: 'rqp_acct_unknown' }]) {
      const answer = await api.send('/api/v1/forms', request)
      expect(answer.status).toBe(401)
      expectDescribed('/forms', answer)
    }
    const worn = close(await api.startAnother({ RATE_LIMIT_PER_MINUTE: '1' }))
    const other = await api.replica.storeKey(team, { id: 'worn' })
    await worn.send('/api/v1/records', { key: other })
    const refused = await worn.send('/api/v1/records', { key: other })
    expect(refused.status).toBe(429)
    expectDescribed('/records', refused)
  })

  test('without account keys, and without an index', async () => {
    await api.replica.loseAccountKeys()
    const unavailable = await api.get('/api/v1/forms')
    await api.replica.completeAccountKeys()
    expect(unavailable.status).toBe(503)
    expectDescribed('/forms', unavailable)

    await api.replica.dropAlias('forms')
    await api.replica.replaceChangeToken(teamList('forms', team as TeamId))
    const indexless = await api.get('/api/v1/forms?Limit=5')
    await api.replica.restoreAlias('forms')
    expect(indexless.status).toBe(503)
    expectDescribed('/forms', indexless)
  })
})
