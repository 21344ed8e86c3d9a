import { PartSize } from '../../../../src/api/search/parts.ts'
import type { SearchClient, SearchRequest } from '../../../../src/api/search/searchClient.ts'
import { readWholeEntities } from '../../../../src/api/search/wholeEntities.ts'
import type { EntityId, TeamId } from '../../../../src/core/model/ids.ts'

const ids = ['a', 'b', 'c', 'd', 'e', 'f'] as EntityId[]
const nothingLarge =
  '{"timed_out":false,"_shards":{"total":1,"successful":1,"skipped":0,"failed":0},"hits":{"total":{"value":0,"relation":"eq"},"hits":[]}}'

type State = 'here' | 'not yet'

/** Elasticsearch with the details of the ids; `stateOf` tells what it has of one when it is asked so many times. */
async function exported(pages: readonly (readonly EntityId[])[], stateOf: (id: string, asked: number) => State) {
  let asked = 0
  const document = (name: string): string => {
    const state = stateOf(name.slice('t/'.length), asked)
    const begin = `{"_index":"p-form-details-v1-1","_id":"${name}"`
    if (state === 'not yet') return `${begin},"found":false}`
    return `${begin},"_version":3,"found":true,"_source":${JSON.stringify({ id: name })}}`
  }
  const send = async ({ path, body }: SearchRequest): Promise<{ isFound: boolean; bytes: Buffer }> => {
    if (!path.endsWith('/_mget')) return { isFound: true, bytes: Buffer.from(nothingLarge) }
    asked++
    const { ids: names } = body as { ids: readonly string[] }
    return { isFound: true, bytes: Buffer.from(`{"docs":[${names.map(document).join(',')}]}`) }
  }
  const client: SearchClient = { indexPrefix: 'p', send }
  const rows: string[] = []
  async function* each(): AsyncGenerator<readonly { readonly id: EntityId }[]> {
    for (const page of pages) yield page.map((id) => ({ id }))
  }
  const { signal } = new AbortController()
  const parts = readWholeEntities(client, 'forms', 't' as TeamId, each(), new PartSize(), (query) => query(signal))
  for await (const part of parts) rows.push(...part.map((row) => (JSON.parse(row.toString()) as { id: string }).id))
  return rows
}

test('whole entities come in the order of their ids, also when some are found only later', async () => {
  const lateBy: Readonly<Record<string, number>> = { b: 3, d: 2, e: 3 }
  const rows = await exported([ids], (id, asked) => ((lateBy[id] ?? 1) <= asked ? 'here' : 'not yet'))
  expect(rows).toEqual(ids.map((id) => `t/${id}`))
})

test('pages of ids come one after the other', async () => {
  const pages = [ids.slice(0, 2), ids.slice(2, 5), ids.slice(5)]
  expect(await exported(pages, () => 'here')).toEqual(ids.map((id) => `t/${id}`))
})
