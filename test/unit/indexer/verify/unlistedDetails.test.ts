import type { Client } from '@elastic/elasticsearch'
import { DifferenceReport } from '../../../../indexer/verify/differenceReport.ts'
import { reportUnlistedDetails } from '../../../../indexer/verify/unlistedDetails.ts'
import type { VerifyContext } from '../../../../indexer/verify/verifyContext.ts'
import { documentKinds, type Indices } from '../../../../src/core/elasticsearch/indices.ts'

const indices = Object.fromEntries(documentKinds.map((kind) => [kind, kind])) as unknown as Indices
const detailCount = 25_000
const idOf = (number: number): string => `acme/s${number}`

type Search = { readonly pit: { readonly id: string }; readonly search_after?: [number]; readonly size: number }
type MultiGet = { readonly docs: readonly { readonly _id: string }[] }

/** An Elasticsearch with 25,000 detail documents of submissions. Their list documents are missing, but those of `late` only at their first reading. */
function withoutLists(late: readonly string[]) {
  /** Id → how often its list document was read. */
  const readings = new Map<string, number>()
  let waiting = 0
  const engine = { readings, mostWaiting: 0 }
  const search = ({ pit, search_after: after, size }: Search) => {
    const first = after?.[0] ?? 0
    const count = pit.id.startsWith('/submission-details') ? Math.min(size, detailCount - first) : 0
    const numbers = Array.from({ length: count }, (_, at) => first + at)
    return { hits: { hits: numbers.map((number) => ({ _id: idOf(number), _version: 1, sort: [number + 1] })) } }
  }
  const getList = (id: string) => {
    const reading = (readings.get(id) ?? 0) + 1
    readings.set(id, reading)
    waiting += reading === 1 ? 1 : -1
    engine.mostWaiting = Math.max(engine.mostWaiting, waiting)
    return { _id: id, _version: 1, found: reading > 1 && late.includes(id) }
  }
  const answer = (path: string, body: unknown): object => {
    if (path === '/_search') return search(body as Search)
    if (path === '/submissions/_mget') return { docs: (body as MultiGet).docs.map(({ _id }) => getList(_id)) }
    return { id: path }
  }
  const request = async ({ path, body }: { path: string; body?: unknown }): Promise<Uint8Array> =>
    Buffer.from(JSON.stringify(answer(path, body)))
  const client = { connectionPool: { size: 1 }, transport: { request } } as unknown as Client
  return { engine, client }
}

test('without list documents, each detail document is reported once, and memory is bounded', async () => {
  const { engine, client } = withoutLists([idOf(0), idOf(detailCount - 1)])
  const context: Partial<VerifyContext> = {
    elasticsearch: client,
    share: { number: 1, count: 4 },
    signal: new AbortController().signal,
    pauseAfterWork: async () => undefined,
  }
  const reported: string[] = []
  const differences = new DifferenceReport()
  differences.add = ({ id }) => reported.push(id)
  await reportUnlistedDetails(context as VerifyContext, indices, differences)
  expect(reported).toEqual(Array.from({ length: detailCount - 2 }, (_, at) => idOf(at + 1)))
  expect(engine.readings.size).toBe(detailCount)
  expect(new Set(engine.readings.values())).toEqual(new Set([2]))
  expect(engine.mostWaiting).toBeLessThanOrEqual(22_000)
})
