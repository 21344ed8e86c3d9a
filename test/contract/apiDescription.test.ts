import { hashVersion, sealCursor } from '../../src/api/changeCursor.ts'
import type { EntityType, TeamId } from '../../src/core/model/ids.ts'
import type { ListVersion } from '../../src/core/redis/listVersions.ts'
import { newCursorKey } from '../../src/core/redis/visiblePositions.ts'
import { type TestAnswer, type TestRequest, useApi } from '../support/api.ts'
import { pointer, type SchemaJudge, schemaJudge } from '../support/description.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'

const team = 'team-1'
const minute = 1_000

const api = useApi({
  forms: [{ team, id: 'full', entity: formEntity({ id: 'full' }) }],
  submissions: [{ team, id: 'full', entity: submissionEntity({ id: 'full' }) }],
  watermark: '2026-04-01T00:00:00.000Z',
  settings: { RATE_LIMIT_PER_MINUTE: String(minute) },
})
let description: { components: { headers: object } }
let judge: SchemaJudge
beforeAll(async () => {
  description = (await api.send('/api/v1/openapi.json')).json as typeof description
  judge = schemaJudge(description)
})
beforeEach(() => api.replica.endMinutes())

const resolve = (parts: readonly string[]): unknown =>
  parts.reduce<unknown>((value, part) => (value as Record<string, unknown> | undefined)?.[part], description)

/** Where the description holds the response; errors are named once for all operations. */
function responseAt(path: string, status: number): string[] {
  const inline = ['paths', path, 'get', 'responses', String(status)]
  const { $ref } = resolve(inline) as { $ref?: string }
  return $ref === undefined ? inline : $ref.split('/').slice(1)
}

function expectDescribed(path: string, { status, headers, json }: TestAnswer): void {
  const response = responseAt(path, status)
  const described = resolve(response) as { headers: object; content?: object }
  if (described.content !== undefined) {
    const schema = pointer(...response, 'content', 'application/json', 'schema')
    expect(judge.problems(schema, json)).toEqual([])
    // Errors are named by their codes.
    if (status >= 400) expect(json).toMatchObject({ error: { code: response.at(-1) } })
  }
  const named = Object.keys(described.headers)
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

const get = (target: string, request: TestRequest = {}): Promise<TestAnswer> => api.get(`/api/v1${target}`, request)

async function whileAliasIs(changed: 'misled' | 'dropped', kind: EntityType, target: string): Promise<TestAnswer> {
  if (changed === 'misled') await api.replica.misleadAlias(kind)
  else await api.replica.dropAlias(kind)
  await api.replica.replaceChangeToken(`${kind}/${team}`)
  await api.replica.forgetIndices()
  const answer = await get(target)
  await api.replica.restoreAlias(kind)
  return answer
}

/** A cursor that another key has sealed, in the format of this release or of another one. */
function foreignCursor(format = 1): string {
  const scope = { type: 'forms', teamId: team as TeamId, view: 'summary', fields: undefined } as const
  const cursor = { version: hashVersion('none' as ListVersion), since: [0], walk: undefined }
  const bytes = Buffer.from(sealCursor(cursor, newCursorKey(), scope), 'base64url')
  bytes[2] = format
  return bytes.toString('base64url')
}

/** What the description says in words is not judged. */
const withoutBody = (answer: TestAnswer): TestAnswer => ({
  ...answer,
  json: { totalDocs: 0, page: 1, limit: 1, items: [] },
})

/** What is asked, the status of its answer, the operation that describes it, if any, and how it is asked. */
type Row = [what: string, status: number, path: string | undefined, ask: () => Promise<TestAnswer>]

const found: Row[] = [
  ['/forms', '/forms'],
  ['/forms', '/forms?limit=1&page=2&Limit=5'],
  ['/forms', '/forms?titleContains=nothing-like-it'],
  ['/forms/{id}', '/forms/full'],
  ['/forms/{id}', '/forms/full?includeFields=false&includeReport=false'],
  ['/records', '/records'],
  ['/records/{id}', '/records/full'],
  ['/record-counts', '/record-counts?by=hour&since=2026-01-01&timeZone=Europe/Berlin&Limit=5'],
  ['/record-counts', '/record-counts?by=form'],
  ['/record-counts', '/record-counts?by=status&since=9999-01-01'],
  ...['/form-changes', '/record-changes'].flatMap((path) =>
    ['', '?view=full&Limit=5', '?cursor=latest', '?fields=id'].map((query) => [path, path + query]),
  ),
].map(([path = '', target = '']): Row => [target, 200, path, () => get(target)])
const counted: Row[] = [
  ...found,
  ['HEAD', 200, undefined, () => get('/records/', { method: 'HEAD' })],
  ['nothing changed', 304, '/forms', () => get('/forms', { headers: { 'if-none-match': '*' } })],
  ['a parameter that breaks its rule', 400, '/forms', () => get('/forms?limit=0')],
  ['a wrong parameter next to an unknown one', 400, '/records', () => get('/records?since=yesterday&Since=1')],
  ['a count of nothing', 400, '/record-counts', () => get('/record-counts?timeZone=Nowhere')],
  ['a cursor that is none', 400, '/record-changes', () => get('/record-changes?cursor=none')],
  ['a cursor of indices that are gone', 410, '/form-changes', () => get(`/form-changes?cursor=${foreignCursor()}`)],
  ['a cursor of a later release', 503, '/form-changes', () => get(`/form-changes?cursor=${foreignCursor(2)}`)],
  ['an export', 200, '/forms', () => get('/forms', { headers: { accept: 'application/x-ndjson' } }).then(withoutBody)],
  ['a form that is not there', 404, '/forms/{id}', () => get('/forms/unknown')],
  ['a record that is not there', 404, '/records/{id}', () => get('/records/unknown')],
  ['an unknown route', 404, '/forms/{id}', () => get('/unknown')],
  ['another method', 405, '/forms', () => get('/forms', { method: 'DELETE' })],
  ['a bug', 500, '/forms', () => whileAliasIs('misled', 'forms', '/forms?Limit=5')],
  ['an index that is not there', 503, '/records', () => whileAliasIs('dropped', 'submissions', '/records?Limit=5')],
]
const uncounted: Row[] = [
  ['OPTIONS', 204, undefined, () => get('/forms', { method: 'OPTIONS' })],
  ['no key', 401, '/forms', () => api.send('/api/v1/forms')],
  ['a bad key', 401, '/forms', () => get('/forms', { key: 'rqp_acct_unknown' })],
  ['a long URL', 414, '/forms', () => get(`/forms?titleContains=${'a'.repeat(9_000)}`)],
  ['a URL that is longer still', 414, '/forms', () => get(`/forms?titleContains=${'a'.repeat(40_000)}`)],
  ['long headers', 431, '/forms', () => get('/forms', { headers: { cookie: 'a'.repeat(40_000) } })],
]

test.each([...counted, ...uncounted])(
  '%s, %i: the answer is as described, private, has Vary, and a request id that is also in the log',
  async (_what, status, path, ask) => {
    const answer = await ask()
    expect(answer.status).toBe(status)
    if (path !== undefined) expectDescribed(path, answer)
    expect(answer.headers).toMatchObject({
      'cache-control': 'private, no-cache',
      vary: 'Authorization, Accept, Accept-Encoding',
      'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    const line = () =>
      api.logLines.find(({ requestId, msg }) => requestId === answer.headers['x-request-id'] && msg === 'request')
    await eventually(() => line() !== undefined)
    expect(line()).toMatchObject({ status })
  },
)

test.each(counted)(
  '%s, %i: the answer has the RateLimit headers, and counts once against the limit',
  async (_what, status, _path, ask) => {
    for (const left of [minute - 1, minute - 2]) {
      const answer = await ask()
      expect(answer.status).toBe(status)
      expect(answer.headers).toMatchObject({
        'ratelimit-policy': `"key";q=${minute};w=60`,
        ratelimit: expect.stringMatching(new RegExp(`^"key";r=${left};t=\\d+$`)),
      })
    }
  },
)

test.each(uncounted)(
  '%s, %i: the answer has no RateLimit headers, and does not count against the limit',
  async (_what, _status, _path, ask) => {
    const { headers } = await ask()
    expect([headers['ratelimit'], headers['ratelimit-policy']]).toEqual([undefined, undefined])
    expect((await get('/forms')).headers['ratelimit']).toContain(`r=${minute - 1};`)
  },
)

test('the answer to a key that has used up its limit is as described', async () => {
  const worn = await api.startAnother({ RATE_LIMIT_PER_MINUTE: '1' })
  const key = await api.replica.storeKey(team, { id: 'worn' })
  for (const status of [200, 429]) {
    const answer = await worn.send('/api/v1/records', { key })
    expect(answer.status).toBe(status)
    expectDescribed('/records', answer)
  }
})
