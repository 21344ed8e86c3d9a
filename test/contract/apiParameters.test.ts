import type { TestAnswer } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { useApi } from '../support/useApi.ts'

const api = useApi()

const get = (target: string): Promise<TestAnswer> => api.get(`/api/v1${target}`)

const expectRefused = async (target: string, message: string): Promise<void> => {
  const { status, json } = await get(target)
  expect(status).toBe(400)
  expect(json).toEqual({ error: { code: 'bad_request', message } })
}

const lists = ['/forms', '/records']
const windowParameters = [
  ['/records', 'since'],
  ['/records', 'until'],
  ['/records', 'changedSince'],
  ['/records', 'changedUntil'],
  ['/forms', 'changedSince'],
  ['/forms', 'changedUntil'],
]

describe.each(lists)('%s', (list) => {
  test.each(['101', ' 5', ''])('limit=%p gives 400 that names the maximum', (sent) =>
    expectRefused(`${list}?limit=${encodeURIComponent(sent)}`, `limit must be an integer from 1 to 100, not "${sent}"`),
  )

  test.each(['0', '9007199254740992'])('page=%p gives 400', (sent) =>
    expectRefused(`${list}?page=${sent}`, `page must be an integer from 1 to 9007199254740991, not "${sent}"`),
  )

  test('names are case-sensitive: Limit=5 filters nothing and is named as ignored', async () => {
    const { status, headers, json } = await get(`${list}?Limit=5`)
    expect(status).toBe(200)
    expect(headers['ignored-parameters']).toBe('Limit')
    expect(json).toMatchObject({ limit: 20 })
  })

  test('no parameter ignored, no header', async () => {
    expect((await get(`${list}?limit=5`)).headers['ignored-parameters']).toBeUndefined()
  })
})

describe('unknown parameters', () => {
  test('are named once each, percent-encoded, on refusals too', async () => {
    const { status, headers } = await get('/forms?x%20y=1&%C3%A9=2&x%20y=3&limit=0')
    expect(status).toBe(400)
    expect(headers['ignored-parameters']).toBe('x%20y, %C3%A9')
  })

  test('are named by every endpoint', async () => {
    expect((await get('/forms/unknown?limit=1')).headers['ignored-parameters']).toBe('limit')
    expect((await get('/records/unknown?page=1')).headers['ignored-parameters']).toBe('page')
  })

  test('a second question mark belongs to the name', async () => {
    const { headers, json } = await get('/forms??limit=5')
    expect(headers['ignored-parameters']).toBe('%3Flimit')
    expect(json).toMatchObject({ limit: 20 })
  })

  test('are counted', async () => {
    const counted = async (): Promise<number> => {
      const { values } = (await api.metrics.getSingleMetric('tidemark_http_ignored_parameters_total')?.get()) ?? {
        values: [],
      }
      return values.find(({ labels }) => labels['route'] === '/api/v1/records')?.value ?? 0
    }
    const before = await counted()
    await get('/records?one=1&two=2')
    expect(await counted()).toBe(before + 2)
  })
})

describe('an empty value', () => {
  test.each([
    ['/forms', 'scene'],
    ['/records', 'status'],
    ['/records', 'formId'],
    ['/forms', 'limit'],
    ['/records', 'page'],
    ['/forms/x', 'includeFields'],
    ['/forms/x', 'includeReport'],
    ...windowParameters,
  ])('%s?%s= gives 400', async (path, name) => {
    const { status, json } = await get(`${path}?${name}=`)
    expect(status).toBe(400)
    expect(json).toMatchObject({ error: { message: expect.stringMatching(new RegExp(`^${name} must .*, not ""$`)) } })
  })

  test('titleContains= filters nothing', async () => {
    expect((await get('/forms?titleContains=')).status).toBe(200)
  })
})

describe('unknown values', () => {
  test('an unknown scene gives 400 that lists the allowed values', () =>
    expectRefused(
      '/forms?scene=exam',
      'scene must be one of knowledge_quiz, random_knowledge_quiz, scored_quiz, outcome_quiz, not "exam"',
    ))

  test('an unknown status gives 400 that lists the allowed values', () =>
    expectRefused(
      '/records?status=Completed',
      'status must be one of pending, processing, completed, failed, not "Completed"',
    ))

  test('what was sent is cut to 64 characters', () =>
    expectRefused(`/forms?limit=${'9'.repeat(65)}`, `limit must be an integer from 1 to 100, not "${'9'.repeat(64)}…"`))

  test('titleContains may have 200 characters', async () => {
    expect((await get(`/forms?titleContains=${encodeURIComponent('é'.repeat(200))}`)).status).toBe(200)
    expect((await get(`/forms?titleContains=${encodeURIComponent('🎉'.repeat(200))}`)).status).toBe(200)
  })

  test('titleContains longer than 200 characters gives 400', () =>
    expectRefused(
      `/forms?titleContains=${'a'.repeat(201)}`,
      `titleContains must be at most 200 characters, not "${'a'.repeat(64)}…"`,
    ))
})

test.each(windowParameters)('%s?%s that is no date gives 400 that says which forms are taken', async (path, name) => {
  const rule = 'must be an ISO 8601 date or date-time with separators, such as 2026-11-21 or 2026-11-21T08:30:00.000Z'
  for (const sent of ['1767225600', '2026-02-30', 'yesterday'])
    await expectRefused(`${path}?${name}=${sent}`, `${name} ${rule}, not "${sent}"`)
})

describe('percent-encoding in the query', () => {
  test.each(['%', '%ZZ', '%E0%A4%A', '%FF', '%00'])(
    'malformed %s is read literally or refused, never a bug',
    async (sent) => {
      expect((await get(`/forms?titleContains=${sent}`)).status).toBe(200)
      expect((await get(`/forms?scene=${sent}`)).status).toBe(400)
      expect((await get(`/forms?${sent}=1`)).status).toBe(200)
    },
  )
})

test('no parameter or title reaches the log', async () => {
  await get('/forms?titleContains=verysecrettitle&token=verysecrettoken&limit=500')
  await eventually(() => api.logLines.some(({ status }) => status === 400))
  expect(JSON.stringify(api.logLines)).not.toMatch(/verysecret/)
})
