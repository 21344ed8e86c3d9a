import { PartSize } from '../../../../src/api/search/parts.ts'
import type { SearchClient, SearchRequest } from '../../../../src/api/search/searchClient.ts'
import { readWholeEntities } from '../../../../src/api/search/wholeEntities.ts'
import type { EntityId, TeamId } from '../../../../src/core/model/ids.ts'

const ids = ['a', 'b', 'c', 'd', 'e', 'f'] as EntityId[]
type State = 'here' | 'not yet' | 'deleted'

/** What Elasticsearch answers to a search for large entities. */
function searchAnswer(bytesOf: Readonly<Record<string, number>>): string {
  const hits = Object.entries(bytesOf).map(([id, bytes]) => {
    return { sort: ['t', `2026-03-01T10:00:00.000Z|${id}`], fields: { 'large.detailBytes': [String(bytes)] } }
  })
  return JSON.stringify({
    ...{ timed_out: false, _shards: { total: 1, successful: 1, skipped: 0, failed: 0 } },
    hits: { hits },
  })
}

type Stored = {
  /** What Elasticsearch has of an entity when it is asked for details so many times. */
  stateOf?(id: string, asked: number): State
  /** How many bytes the large ones have. */
  readonly bytesOf?: Readonly<Record<string, number>>
}

/** The parts that are exported of these pages of ids, each row by its id. */
async function exported(pages: readonly (readonly EntityId[])[], { stateOf = () => 'here', bytesOf = {} }: Stored) {
  let asked = 0
  const document = (name: string): string => {
    const state = stateOf(name.slice('t/'.length), asked)
    const begin = `{"_index":"p-form-details-v1-1","_id":"${name}"`
    if (state === 'not yet') return `${begin},"found":false}`
    const source = state === 'deleted' ? { tombstone: {} } : { id: name }
    return `${begin},"_version":3,"found":true,"_source":${JSON.stringify(source)}}`
  }
  const send = async ({ path, body }: SearchRequest): Promise<{ isFound: boolean; bytes: Buffer }> => {
    if (!path.endsWith('/_mget')) return { isFound: true, bytes: Buffer.from(searchAnswer(bytesOf)) }
    asked++
    const { ids: names } = body as { ids: readonly string[] }
    return { isFound: true, bytes: Buffer.from(`{"docs":[${names.map(document).join(',')}]}`) }
  }
  const client: SearchClient = { indexPrefix: 'p', send }
  async function* each(): AsyncGenerator<readonly { readonly id: EntityId }[]> {
    for (const page of pages) yield page.map((id) => ({ id }))
  }
  const { signal } = new AbortController()
  const parts: string[][] = []
  const reading = readWholeEntities(client, 'forms', 't' as TeamId, each(), new PartSize(), (query) => query(signal))
  for await (const part of reading)
    parts.push(part.map((row) => (JSON.parse(row.toString()) as { id: string }).id.slice('t/'.length)))
  return parts
}

test('whole entities come in the order of their ids, also when some are found only later', async () => {
  const lateBy: Readonly<Record<string, number>> = { b: 3, d: 2, e: 3 }
  const stateOf = (id: string, asked: number): State => ((lateBy[id] ?? 1) <= asked ? 'here' : 'not yet')
  expect((await exported([ids], { stateOf })).flat()).toEqual(ids)
})

test('pages of ids come one after the other', async () => {
  const pages = [ids.slice(0, 2), ids.slice(2, 5), ids.slice(5)]
  expect(await exported(pages, {})).toEqual(pages)
})

test('large ones come in parts of bounded bytes, in the same order, also behind a part of which all were deleted', async () => {
  const bytesOf = { b: 900_000, c: 900_000, d: 700_000 }
  const stateOf = (id: string): State => (id === 'c' ? 'deleted' : 'here')
  expect(await exported([ids], { stateOf, bytesOf })).toEqual([['a'], ['b'], ['d'], ['e', 'f']])
})

test('a page of ids is read to its end in parts that become larger as they turn out to be small', async () => {
  const many = Array.from({ length: 250 }, (_, at) => `e${at}` as EntityId)
  const parts = await exported([many], {})
  expect(parts.flat()).toEqual(many)
  expect(parts.map(({ length }) => length)).toEqual([100, 150])
})
