import { useApi } from '../support/api.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'

const team = 'team-1'
const count = 7

const api = useApi({
  watermark: '2026-11-21T10:00:00.000Z',
  forms: Array.from({ length: count }, (_, at) => ({
    team,
    id: `f${at}`,
    entity: formEntity({ id: `f${at}`, title: `Größe & Co. ${at}` }),
  })),
  submissions: [{ team, id: 'a', entity: submissionEntity({ id: 'a' }) }],
  settings: { BASE_URL: 'https://quiz.example/replica/api/v1' },
})

/** The links of an answer by their relation, below the public URL. */
async function linksOf(target: string): Promise<Record<string, string>> {
  const { status, headers } = await api.get(`/api/v1/${target}`)
  expect(status).toBe(200)
  const links = (headers['link'] ?? '').matchAll(/<https:\/\/quiz\.example\/replica\/api\/v1\/([^>]*)>; rel="(\w+)"/g)
  return Object.fromEntries([...links].map(([, url = '', relation = '']) => [relation, url]))
}

test.each([
  ['forms', 'forms?page=$', { first: 1, last: 1 }],
  ['forms?limit=3', 'forms?limit=3&page=$', { first: 1, next: 2, last: 3 }],
  ['forms/?page=2&limit=3', 'forms?page=$&limit=3', { first: 1, prev: 1, next: 3, last: 3 }],
  ['forms?limit=3&page=3', 'forms?limit=3&page=$', { first: 1, prev: 2, last: 3 }],
  ['forms?limit=3&page=9', 'forms?limit=3&page=$', { first: 1, prev: 3, last: 3 }],
  ['records?status=failed', 'records?status=failed&page=$', { first: 1, last: 1 }],
])('%s has links to its other pages with its own query, %s', async (target, page, numbers) => {
  const links = Object.entries(numbers).map(([relation, number]) => [relation, page.replace('$', String(number))])
  expect(await linksOf(target)).toEqual(Object.fromEntries(links))
})

test('a client that follows rel="next" gets every item once, with the filters that it sent', async () => {
  const seen: string[] = []
  let target: string | undefined =
    'forms?limit=2&titleContains=gr%C3%B6%C3%9Fe%20%26&changedSince=2026-01-01T00:00:00%2B02:00'
  while (target !== undefined) {
    const { items } = await api.read<{ items: { id: string }[] }>(`/api/v1/${target}`)
    seen.push(...items.map(({ id }) => id))
    target = (await linksOf(target))['next']
  }
  expect(seen.toSorted()).toEqual(Array.from({ length: count }, (_, at) => `f${at}`))
})

test('a cached answer has links with the query of each client, ignored parameters included', async () => {
  expect((await linksOf('forms?limit=3&mine=1'))['next']).toBe('forms?limit=3&mine=1&page=2')
  expect((await linksOf('forms?limit=03'))['next']).toBe('forms?limit=03&page=2')
})

test('an answer that is no page has no links, and links too long for clients are left out', async () => {
  const long = 'x'.repeat(3_000)
  for (const target of ['forms/f1', 'record-counts?by=day', `forms?ignored=${long}`])
    expect(await linksOf(target)).toEqual({})
  const { headers } = await api.get('/api/v1/forms', { headers: { accept: 'application/x-ndjson' } })
  expect(headers['link']).toBeUndefined()
  expect((await api.get('/api/v1/forms?limit=0')).headers['link']).toBeUndefined()
})
