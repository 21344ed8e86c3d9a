import { type TestAnswer, useApi } from '../support/api.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'

const [ndjson, csv] = ['application/x-ndjson', 'text/csv']
/** As a producer may write them: `JSON.stringify` would write each as 0. */
const zeros = ['0', '-0', '-0.0', '0e5'].map((score, at) => {
  const result = { status: 'completed', score: 'as-written' }
  const entity = JSON.stringify(submissionEntity({ id: `zero-${at}`, result })).replace('"as-written"', score)
  return { team: 'team-1', id: `zero-${at}`, entity }
})
const api = useApi({ forms: [{ team: 'team-1', id: 'x', entity: formEntity({ id: 'x' }) }], submissions: zeros })

const get = (target: string, accept = 'application/json'): Promise<TestAnswer> =>
  api.get(`/api/v1${target}`, { headers: { accept } })

const expectRefused = async (target: string, message: string, accept?: string): Promise<void> => {
  const { status, json } = await get(target, accept)
  expect([target, status, json]).toEqual([target, 400, { error: { code: 'bad_request', message } }])
}

const lists = ['/forms?', '/records?']
const counts = '/record-counts?by=day&'
const noDates = ['1767225600', '2026-02-30', 'yesterday', '']
const date = 'must be an ISO 8601 date or date-time with separators, such as 2026-11-21 or 2026-11-21T08:30:00.000Z'
const names = 'must be names of fields such as id,result.score'
const notOnPages = `belongs to exports (Accept: ${ndjson}): it must be left out of a page`
const notInCsv = `belongs to NDJSON (Accept: ${ndjson}): it must be left out of CSV`
const notInExports = 'belongs to pages: it must be left out of an export'
const zone = 'must be the name of an IANA time zone, such as Europe/Berlin'
const notByTime = 'needs hour, day or month in by; leave it out otherwise'
const groupings =
  'hour, day, month, form, status, level, outcome, utmSource, utmCampaign, answer, or a time and a value, such as day,level'

/** A rule begins with the name of the parameter that breaks it, which is sent behind each of the paths with each of the values. */
test.each<[rule: string, paths: readonly string[], values: readonly string[], accept?: string]>([
  ['limit must be an integer from 1 to 100', lists, ['101', '-1', '1.5', '1e1', 'x', '%205', '']],
  ['page must be an integer from 1 to 9007199254740991', lists, ['0', '9007199254740992', '0x1', '']],
  ['scene must be one of knowledge_quiz, random_knowledge_quiz, scored_quiz, outcome_quiz', ['/forms?'], ['exam', '']],
  ['status must be one of pending, processing, completed, failed', ['/records?', counts], ['Completed', '']],
  ['formId must not be empty', ['/records?', counts], ['']],
  ...['email', 'examineeId', 'shareToken', 'level', 'outcomeCode', 'utmSource', 'utmMedium', 'utmCampaign'].map(
    (name): [string, string[], string[]] => [`${name} must not be empty`, ['/records?', counts], ['']],
  ),
  [
    'serialNumber must be an integer in digits within ±(2^53 − 1), such as 17',
    ['/records?', counts],
    ['', '017', '1e1', '%2B1', 'x', '9007199254740992'],
  ],
  ...['minScore', 'maxScore'].map((name): [string, string[], string[]] => [
    `${name} must be a number within the range of a double, such as 7.5`,
    ['/records?', counts],
    ['', '1e400', '.5', '0x1', 'NaN', '1,5'],
  ]),
  [
    'answers must be a JSON object from codes to texts or lists of texts, such as {"q1":"yes","q2":["a","b"]}',
    ['/records?', counts],
    ['', '{', '[]', 'null', '"a"', '{"q1":1}', '{"q1":null}', '{"q1":[]}', '{"q1":["a",true]}', '{"q1":[["a"]]}'],
  ],
  [`fields ${names}`, ['/records?'], ['email', 'reportResult']],
  [`fields ${names}`, ['/forms/x?'], ['score']],
  ['includeFields must be true or false', ['/forms/x?'], ['']],
  ['includeReport must be true or false', ['/forms/x?'], ['0', '1', 'no', 'falsee', '']],
  [`since ${date}`, ['/records?'], noDates],
  [`until ${date}`, ['/records?'], noDates],
  [`changedSince ${date}`, lists, noDates],
  [`changedUntil ${date}`, lists, noDates],
  [`by must be one of ${groupings}`, ['/record-counts?'], ['', 'week', 'Day', 'level,day', 'day,hour', 'form,level']],
  ['code needs answer in by; leave it out otherwise', [counts], ['q1', '']],
  ['scores must be true or false', [counts], ['', '1']],
  [`timeZone ${zone}`, [counts], ['', '%2B02:00', 'PST', 'Europe/Atlantis', '../UTC']],
  [`timeZone ${notByTime}`, ['form', 'status'].map((by) => `/record-counts?by=${by}&`), ['Asia/Tokyo']],
  ['view must be one of summary, full', lists, ['FULL', ''], ndjson],
  ['view must be one of summary, full', lists, ['other'], csv],
  [`view ${notOnPages}`, lists, ['full']],
  [`view ${notInCsv}`, lists, ['full'], csv],
  [`limit ${notInExports}`, lists, ['10'], ndjson],
  [`limit ${notInExports}`, lists, ['10'], csv],
  [`page ${notInExports}`, lists, ['2'], ndjson],
  [`page ${notInExports}`, lists, ['2'], csv],
])(
  '%s: any other value gets 400 with a message that quotes it',
  async (rule, paths, values, accept = 'application/json') => {
    const [name] = rule.split(' ')
    for (const path of paths)
      for (const value of values)
        await expectRefused(`${path}${name}=${value}`, `${rule}, not "${decodeURIComponent(value)}"`, accept)
  },
)

test('a missing or too long parameter gets 400 with a message that names it', async () => {
  await expectRefused('/record-counts', `by is required: one of ${groupings}`)
  await expectRefused('/record-counts?by=answer', 'code is required with by=answer')
  await expectRefused('/record-counts?by=day,answer', 'code is required with by=day,answer')
  const shown = `${'a'.repeat(64)}…`
  const rule = 'titleContains must be at most 200 characters'
  await expectRefused(`/forms?titleContains=${'a'.repeat(201)}`, `${rule}, not "${shown}"`)
  await expectRefused(`/records?level=${'a'.repeat(257)}`, `level must be at most 256 characters, not "${shown}"`)
})

test.each([
  ['/forms?limit=5', 200, undefined],
  ['/forms?titleContains=', 200, undefined],
  ['/records?Limit=5', 200, 'Limit'],
  ['/records?changedSince=2026-11-20&includeDeleted=true', 200, 'includeDeleted'],
  ['/forms?since=2030-01-01&until=2000-01-01', 200, 'since, until'],
  ['/forms?x%20y=1&%C3%A9=2&x%20y=3&limit=0', 400, 'x%20y, %C3%A9'],
  ['/forms/unknown?limit=1', 404, 'limit'],
  ['/records/unknown?page=1', 404, 'page'],
  [`${counts}limit=1&page=2&TimeZone=x`, 200, 'limit, page, TimeZone'],
])('an answer to %s, %i, names the unknown parameters in Ignored-Parameters: %s', async (target, status, ignored) => {
  const answer = await get(target)
  expect([answer.status, answer.headers['ignored-parameters']]).toEqual([status, ignored])
})

test('an ignored parameter changes nothing, such as one in another letter case or with a leading question mark', async () => {
  for (const query of ['Limit=5', '?limit=5', 'since=2030-01-01&until=2000-01-01', 'titleContains='])
    expect((await get(`/forms?${query}`)).json).toMatchObject({ totalDocs: 1, limit: 20 })
})

test.each(['minScore=0', 'minScore=-0', 'maxScore=0', 'maxScore=-0.0', 'minScore=0&maxScore=0'])(
  '%s finds every zero, with and without a sign',
  async (query) => {
    expect((await get(`/records?${query}`)).json).toMatchObject({ totalDocs: zeros.length })
  },
)

test('ignored parameters are counted in a metric', async () => {
  const counted = async (): Promise<number | undefined> => {
    const metric = await api.metrics.getSingleMetric('tidemark_http_ignored_parameters_total')?.get()
    return metric?.values.find(({ labels }) => labels['route'] === '/api/v1/records')?.value
  }
  await get('/records?one=1')
  const before = Number(await counted())
  await get('/records?one=1&two=2')
  expect(await counted()).toBe(before + 2)
})

test.each(['%', '%ZZ', '%E0%A4%A', '%FF', '%00'])(
  'malformed percent-encoding %s is read literally, or refused with 400',
  async (sent) => {
    expect((await get(`/forms?titleContains=${sent}`)).status).toBe(200)
    expect((await get(`/forms?scene=${sent}`)).status).toBe(400)
    expect((await get(`/forms?${sent}=1`)).status).toBe(200)
  },
)
