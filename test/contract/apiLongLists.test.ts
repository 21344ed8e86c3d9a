import { useApi } from '../support/api.ts'

/** Elasticsearch counts and pages to 10,000 of its own accord. */
const count = 10_050
const limit = 100
const instant = '2026-03-01T10:00:00.000Z'
const atATime = 2_000
const idOf = (at: number): string => `s-${String(at).padStart(6, '0')}`

const records = Array.from({ length: count }, (_, at) => ({
  team: 'team-1',
  id: idOf(at),
  entity: { id: idOf(at), formId: 'f', submittedAt: instant, updatedAt: instant, result: { status: 'completed' } },
}))
const api = useApi({
  fill: async (replica) => {
    for (let at = 0; at < count; at += atATime) await replica.storeSubmissions(...records.slice(at, at + atATime))
  },
})

test.each([1, 10, 11, 100, 101, 102])(
  'page %i of a list with more than 10,000 rows is served, with the total',
  async (page) => {
    const { status, json } = await api.get(`/api/v1/records?limit=${limit}&page=${page}`)
    const { totalDocs, items } = json as { totalDocs: number; items: { id: string }[] }
    const ids = Array.from({ length: count }, (_, at) => idOf(count - 1 - at)).slice((page - 1) * limit, page * limit)
    expect([status, totalDocs, items.map(({ id }) => id)]).toEqual([200, count, ids])
  },
)
