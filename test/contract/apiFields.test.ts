import { toInstant } from '../../src/core/model/instant.ts'
import { linesOf, type TestAnswer, useApi } from '../support/api.ts'
import { queryData } from '../support/queryData.ts'

const api = useApi({
  teams: ['acme'],
  fill: (replica) => queryData(71).storeIn(replica),
  watermark: toInstant(Date.parse('2026-11-23T08:00:00.000Z')),
})
const get = (
  target: string,
  accept = 'application/json',
  more: Readonly<Record<string, string>> = {},
): Promise<TestAnswer> => api.get(`/api/v1/${target}`, { headers: { accept, ...more } })
const ndjson = 'application/x-ndjson'

type Item = { readonly id: string; readonly result: { readonly score: unknown }; readonly title: string }

test.each([
  ['records', 'fields=id,result.score', ({ id, result }: Item) => ({ id, result: { score: result.score } })],
  ['forms', 'fields=title,id', ({ id, title }: Item) => ({ title, id })],
])(
  '%s with %s has the same items with these members alone, on pages and in exports',
  async (list, fields, expected) => {
    const whole = linesOf(await get(list, ndjson)).map((line) => JSON.parse(line) as Item)
    const lines = linesOf(await get(`${list}?${fields}`, ndjson))
    expect(lines).toEqual(whole.map((item) => JSON.stringify(expected(item))))
    expect(lines.length).toBeGreaterThan(100)
    const { json, headers, text } = await get(`${list}?${fields}&page=2&limit=100`)
    const { items } = json as { items: unknown }
    expect(JSON.stringify(items)).toBe(`[${lines.slice(100, 200).join()}]`)
    expect(headers['link']).toContain(new URLSearchParams(fields).toString())
    expect(text).not.toContain('@')
  },
)

test('a single item and an export with view=full accept `fields`, too', async () => {
  const fields = 'fields=id,metadata.ip,reportResult.status'
  const [first = ''] = linesOf(await get(`records?view=full&${fields}`, ndjson))
  expect(Object.keys(JSON.parse(first) as object)).toEqual(['id', 'metadata', 'reportResult'])
  expect((await get(`records/${encodeURIComponent((JSON.parse(first) as Item).id)}?${fields}`)).text).toBe(first)
})

test('a CSV export has the columns that `fields` names, in that order', async () => {
  const { text } = await get('records?fields=result.score,data.q1,id', 'text/csv')
  const [header, ...rows] = text.split('\r\n')
  expect(header).toBe('"result.score","data.q1","id"')
  expect(rows).toHaveLength(linesOf(await get('records', ndjson)).length + 1)
})

test('an ETag is valid for one selection of fields only', async () => {
  const { headers } = await get('records?fields=id')
  const named = { 'if-none-match': String(headers['etag']) }
  expect((await get('records?fields=id', undefined, named)).status).toBe(304)
  expect((await get('records', undefined, named)).status).toBe(200)
  expect((await get('records?fields=id,status', undefined, named)).status).toBe(400)
})
