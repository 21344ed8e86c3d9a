import { toInstant } from '../../src/core/model/instant.ts'
import { type TestAnswer, useApi } from '../support/api.ts'
import { askChanges, type ChangeRow, namesOf, rowsOf, walkChanges } from '../support/changeFeed.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'

const [large, medium, whole] = ['large', 'medium', 'whole']
const feed = '/api/v1/record-changes'
const maxPageBytes = 2 * 1024 * 1024
/** The most that Elasticsearch is asked for at once, but for a single row that is larger. */
const mostBytes = 4 * 1024 * 1024
const hugeBytes = 6_000_000
const rowBytes = [10, 10_000, 17_000, 300_000, 900_000]
const rows = 60
const mediumRows = 400

const id = (at: number): string => `s${String(at).padStart(3, '0')}`
const record = (team: string, at: number, bytes: number) => {
  return {
    team,
    id: id(at),
    partition: at % 2,
    entity: submissionEntity({ id: id(at), data: { q: 'x'.repeat(bytes) } }),
  }
}
const all = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))
const fields = all(3_000, (code) => ({ code: `q${code}`, type: 'text', title: `Question ${code}` }))

const api = useApi({
  teams: [large, medium, whole],
  fill: async (replica) => {
    await replica.storeSubmissions(
      ...all(rows, (at) => record(large, at, rowBytes[at % rowBytes.length] ?? 0)),
      record(large, rows, hugeBytes),
      ...all(mediumRows, (at) => record(medium, at, 14_000)),
    )
    await replica.storeForms(
      ...all(100, (at) => ({ team: whole, id: id(at), entity: formEntity({ id: id(at), fields }) })),
    )
    await replica.publishWatermark(toInstant(0))
  },
  hasFaultyElasticsearch: true,
})

const askAs =
  (team: string) =>
  (target: string): Promise<TestAnswer> =>
    api.get(target, { key: api.keyOf(team) })

let answers: number[] = []
beforeEach(() => {
  answers = []
  api.elasticsearch.inject('/', async (exchange) => {
    const answer = await exchange.ask()
    answers.push(answer.body.length)
    exchange.reply(answer)
  })
})

/** All rows of a feed; each page is whole, and no larger than a page may be. */
async function walkWhole(path: string, team: string): Promise<readonly ChangeRow[]> {
  const ask = askAs(team)
  const pages = await walkChanges(ask, path)
  for (const { items } of pages) {
    const bytes = items.reduce((sum, item) => sum + JSON.stringify(item).length, 0)
    if (items.length > 1) expect(bytes).toBeLessThanOrEqual(maxPageBytes)
  }
  return rowsOf(pages)
}

test.each(['limit=1000', 'limit=7', 'limit=1000&view=full'])(
  'a walk returns each row of up to six megabytes once, in small pages (%s)',
  async (query) => {
    const found = await walkWhole(`${feed}?${query}`, large)
    expect([...namesOf(found)].sort()).toEqual(all(rows + 1, id))
    const lengthOf = ({ data }: ChangeRow): number => (data as { q: string }).q.length
    const lengths = new Map(found.map((row) => [row.id, lengthOf(row)]))
    expect(all(rows, (at) => lengths.get(id(at)))).toEqual(all(rows, (at) => rowBytes[at % rowBytes.length]))
    expect(lengths.get(id(rows))).toBe(hugeBytes)
    // The largest row, by itself.
    expect(answers.filter((bytes) => bytes > mostBytes).every((bytes) => bytes < hugeBytes + 10_000)).toBe(true)
  },
)

test('a page has fewer rows than its limit where the rows are of medium size', async () => {
  const found = await walkWhole(`${feed}?limit=1000`, medium)
  expect([...namesOf(found)].sort()).toEqual(all(mediumRows, id))
})

test('a walk has forms with thousands of fields whole', async () => {
  const found = await walkWhole('/api/v1/form-changes?view=full&limit=1000', whole)
  expect(found.map((row) => (row['fields'] as unknown[]).length)).toEqual(Array(100).fill(3_000))
  expect(Math.max(...answers)).toBeLessThan(mostBytes)
})

test('a walk has the deletions among large rows', async () => {
  const ask = askAs(large)
  const { cursor } = await askChanges(ask, feed, 'latest')
  await api.replica.storeSubmissions({ team: large, id: 'gone', entity: null }, record(large, rows + 1, 20_000))
  await api.replica.publishPositions(toInstant(1), { lists: [`submissions/${large}`] })
  expect(namesOf(rowsOf(await walkChanges(ask, feed, cursor)))).toEqual(['-gone', id(rows + 1)])
})
