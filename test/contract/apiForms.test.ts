import type { TestAnswer } from '../support/api.ts'
import { formEntity } from '../support/entities.ts'
import { useApi } from '../support/useApi.ts'

const team = 'team-1'
const otherTeam = 'team-2'

const api = useApi({ teams: [team, otherTeam, 'team-3'] })

const get = (target: string, sentKey = api.key): Promise<TestAnswer> => api.send(`/api/v1${target}`, { key: sentKey })

const list = async (query = '', sentKey = api.key): Promise<{ ids: string[]; totalDocs: number; limit: number }> => {
  const { status, json } = await get(`/forms${query}`, sentKey)
  expect(status).toBe(200)
  const { items, ...envelope } = json as { items: { id: string }[]; totalDocs: number; limit: number }
  return { ids: items.map(({ id }) => id), ...envelope }
}

describe('GET /api/v1/forms', () => {
  const scenes = ['knowledge_quiz', 'random_knowledge_quiz', 'scored_quiz', 'outcome_quiz']
  const expectedOrder = ['quiz-4', 'quiz-3', 'quiz-2', 'quiz-1', 'same-c', 'same-b', 'same-a']

  beforeAll(() =>
    api.replica.storeForms(
      ...scenes.map((scene, index) => ({
        team,
        id: `quiz-${index + 1}`,
        entity: formEntity({ id: `quiz-${index + 1}`, scene, createdAt: `2026-05-0${index + 1}T00:00:00Z` }),
      })),
      ...['same-b', 'same-c', 'same-a'].map((id) => ({
        team,
        id,
        entity: formEntity({ id, createdAt: '2026-01-01T00:00:00Z' }),
      })),
      { team: otherTeam, id: 'foreign', entity: formEntity({ id: 'foreign' }) },
    ),
  )

  test('lists all forms of the team, newest first, then by id descending', async () => {
    expect(await list()).toMatchObject({ ids: expectedOrder, totalDocs: 7 })
  })

  test('lists nothing of other teams', async () => {
    expect(await list('', api.keyOf(otherTeam))).toMatchObject({ ids: ['foreign'], totalDocs: 1 })
  })

  test.each(scenes.map((scene, index) => [scene, `quiz-${index + 1}`]))('scene=%s filters', async (scene, id) => {
    const { ids } = await list(`?scene=${scene}`)
    expect(ids).toEqual(scene === 'knowledge_quiz' ? [id, 'same-c', 'same-b', 'same-a'] : [id])
  })

  test('limit defaults to 20 and page to 1', async () => {
    expect((await get('/forms')).json).toMatchObject({ limit: 20, page: 1 })
  })

  test('limit may be 100', async () => {
    expect((await get('/forms?limit=100')).json).toMatchObject({ limit: 100 })
  })

  test('pages of any size hold every form once, in order, each with the whole total', async () => {
    for (const limit of [1, 2, 3, 7]) {
      const seen: string[] = []
      for (let page = 1; page <= Math.ceil(7 / limit); page++) {
        const { ids, totalDocs } = await list(`?limit=${limit}&page=${page}`)
        expect(totalDocs).toBe(7)
        seen.push(...ids)
      }
      expect(seen).toEqual(expectedOrder)
    }
  })

  test.each(['2', '501', '10001', '21474836', '21474837', String(Number.MAX_SAFE_INTEGER)])(
    'page %s, past the last one, is empty with the true total',
    async (page) => {
      const { status, json } = await get(`/forms?limit=100&page=${page}`)
      expect(status).toBe(200)
      expect(json).toEqual({ totalDocs: 7, page: Number(page), limit: 100, items: [] })
    },
  )

  test('filters combine', async () => {
    expect((await list('?scene=knowledge_quiz&titleContains=product&limit=2&page=2')).ids).toEqual(['same-b', 'same-a'])
  })

  test('since and until are no parameters of this list', async () => {
    const { status, headers, json } = await get('/forms?since=2030-01-01&until=2000-01-01')
    expect(status).toBe(200)
    expect(headers['ignored-parameters']).toBe('since, until')
    expect(json).toMatchObject({ totalDocs: 7 })
  })

  test('an updated form shows its newest state, and a deleted one is gone', async () => {
    const changing = { team, id: 'changing' }
    await api.replica.storeForms({ ...changing, entity: formEntity({ id: 'changing', title: 'Before' }), revision: 1 })
    await api.replica.storeForms({ ...changing, entity: formEntity({ id: 'changing', title: 'After' }), revision: 2 })
    expect((await get('/forms/changing')).json).toMatchObject({ title: 'After' })
    expect((await list()).ids).toContain('changing')
    await api.replica.storeForms({ ...changing, entity: null })
    expect((await get('/forms/changing')).status).toBe(404)
    expect(await list()).toMatchObject({ ids: expectedOrder, totalDocs: 7 })
  })
})

describe('GET /api/v1/forms/{id}', () => {
  const withoutParts = ['description', 'layout', 'systemText']
  const read = (target: string): Promise<TestAnswer> => get(target, api.keyOf('team-3'))
  const partsOf = async (query: string): Promise<string[]> => {
    const { status, json } = await read(`/forms/parts${query}`)
    expect(status).toBe(200)
    return Object.keys(json as object).slice(10)
  }

  beforeAll(async () => {
    await api.replica.storeForms(
      { team: 'team-3', id: 'parts', entity: formEntity({ id: 'parts' }) },
      { team: 'team-3', id: 'A.b_c:d-9', entity: formEntity({ id: 'A.b_c:d-9' }) },
      { team: 'team-4', id: 'foreign', entity: formEntity({ id: 'foreign' }) },
      { team: 'team-3', id: 'deleted', entity: null },
    )
  })

  test('includeFields and includeReport default to true', async () => {
    expect(await partsOf('')).toEqual([...withoutParts, 'fields', 'report'])
    expect(await partsOf('?includeFields=true&includeReport=true')).toEqual([...withoutParts, 'fields', 'report'])
  })

  test('includeFields=false leaves out fields', async () => {
    expect(await partsOf('?includeFields=false')).toEqual([...withoutParts, 'report'])
  })

  test('includeReport=false leaves out report', async () => {
    expect(await partsOf('?includeReport=false')).toEqual([...withoutParts, 'fields'])
  })

  test('both false leave out both', async () => {
    expect(await partsOf('?includeFields=false&includeReport=false')).toEqual(withoutParts)
  })

  test.each(['FALSE', 'False', 'fAlSe'])('includeFields=%s is false', async (sent) => {
    expect(await partsOf(`?includeFields=${sent}`)).toEqual([...withoutParts, 'report'])
  })

  test.each(['FALSE', 'False', 'fAlSe'])('includeReport=%s is false', async (sent) => {
    expect(await partsOf(`?includeReport=${sent}`)).toEqual([...withoutParts, 'fields'])
  })

  test.each(['TRUE', 'True'])('includeFields=%s is true', async (sent) => {
    expect(await partsOf(`?includeFields=${sent}`)).toEqual([...withoutParts, 'fields', 'report'])
  })

  test.each(['0', '1', 'no', 'yes', 'falsee', ''])('includeReport=%s gives 400', async (sent) => {
    const { status, json } = await read(`/forms/parts?includeReport=${sent}`)
    expect(status).toBe(400)
    const message = `includeReport must be true or false, not "${sent}"`
    expect(json).toEqual({ error: { code: 'bad_request', message } })
  })

  test('every character an id may have is found, percent-encoded or not', async () => {
    expect((await read('/forms/A.b_c:d-9')).json).toMatchObject({ id: 'A.b_c:d-9' })
    expect((await read('/forms/A%2Eb%5Fc%3Ad%2D9')).json).toMatchObject({ id: 'A.b_c:d-9' })
  })

  test.each([
    ['does not exist', 'unknown'],
    ["is another team's", 'foreign'],
    ['was deleted', 'deleted'],
    ['has a malformed id: a space', 'a%20b'],
    ['has a malformed id: a slash', 'team-3%2Fparts'],
    ['has a malformed id: broken percent-encoding', '%E0%A4%A'],
    ['has a malformed id: a percent sign', '%'],
    ['has a malformed id: a control character', '%00'],
    ['has a malformed id: dots', '..'],
    ['has a malformed id: too long', 'x'.repeat(129)],
    ['has a malformed id: no ASCII', '%C3%A9'],
  ])('a form that %s gives 404, all alike', async (_why, id) => {
    const { status, text } = await read(`/forms/${id}`)
    expect(status).toBe(404)
    expect(text).toBe('{"error":{"code":"not_found","message":"no such form"}}')
  })
})
