import type { Stage } from '../stage.ts'

/** The documents by record key, with the time of their last update. */
export type State = ReadonlyMap<string, string>

const pageRows = 5_000
const requestTimeout = 60_000
type Row = {
  readonly tombstone?: unknown
  readonly updatedAt?: string
  readonly summary?: { readonly updatedAt: string }
}
const parts = ['tombstone', 'updatedAt', 'summary.updatedAt']

const updatedAtOf = (row: Row | undefined): string | undefined =>
  row?.tombstone === undefined ? (row?.summary ?? row)?.updatedAt : undefined

/** Of all documents that a search finds. */
export async function readState({ client, signal }: Stage, index: string): Promise<State> {
  const state = new Map<string, string>()
  if (!(await client.indices.exists({ index }, { signal, requestTimeout }))) return state
  await client.indices.refresh({ index }, { signal, requestTimeout })
  const search = { index, size: pageRows, _source: parts }
  for await (const { body } of client.helpers.scrollSearch<Row>(search, { signal, requestTimeout }))
    for (const { _id: id, _source: row } of body.hits.hits) {
      const updatedAt = updatedAtOf(row)
      if (id !== undefined && updatedAt !== undefined) state.set(id, updatedAt)
    }
  return state
}

/** Of the documents of `keys` that a search finds now, without a refresh. */
export async function readKeys({ client, signal }: Stage, index: string, keys: readonly string[]): Promise<State> {
  const search = { index, size: keys.length, _source: parts, ignore_unavailable: true }
  const query = { ids: { values: [...keys] } }
  const { hits } = await client.search<Row>({ ...search, query }, { signal, requestTimeout })
  const found = hits.hits.map(({ _id: id, _source: row }) => [id ?? '', updatedAtOf(row)] as const)
  return new Map(found.filter((entry): entry is readonly [string, string] => entry[1] !== undefined))
}

/** Of the writes that Elasticsearch has received; it grows while a writer writes, also the same again. */
export async function countWrites({ client, signal }: Stage, index: string): Promise<number> {
  const stats = await client.indices
    .stats({ index, metric: 'indexing' }, { signal, requestTimeout })
    .catch(() => undefined)
  const {
    index_total: written = 0,
    index_failed: refused = 0,
    delete_total: deleted = 0,
  } = stats?._all.primaries?.indexing ?? {}
  return written + refused + deleted
}

export type Differences = { readonly missing: number; readonly older: number; readonly undeleted: number }

export function differencesOf(state: State, wanted: State): Differences {
  const pairs = [...wanted].map(([key, updatedAt]) => [state.get(key), updatedAt] as const)
  return {
    missing: pairs.filter(([found]) => found === undefined).length,
    older: pairs.filter(([found, updatedAt]) => found !== undefined && found !== updatedAt).length,
    undeleted: [...state.keys()].filter((key) => !wanted.has(key)).length,
  }
}

export const isSame = ({ missing, older, undeleted }: Differences): boolean => missing + older + undeleted === 0
