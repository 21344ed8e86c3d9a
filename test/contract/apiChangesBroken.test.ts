import { toInstant } from '../../src/core/model/instant.ts'
import { useApi } from '../support/api.ts'
import { type ChangePage, type ChangeRow, pageIn } from '../support/changeFeed.ts'
import { submissionEntity } from '../support/entities.ts'
import { seeded } from '../support/random.ts'

const team = 'team-1'
const [entities, partitions, breaks] = [300, 4, 500]
const api = useApi({ teams: [team], watermark: toInstant(1) })

const store = (at: number, revision: number, isDeleted = false): Promise<void> => {
  const id = `s-${at}`
  const entity = isDeleted ? null : submissionEntity({ id, data: { revision } })
  return api.replica.storeSubmissions({ team, id, revision, partition: at % partitions, entity })
}
const publish = (): Promise<void> => api.replica.publishPositions(toInstant(1), { lists: [`submissions/${team}`] })

/** Reads an answer; undefined once the client ends, after so many bytes. */
async function read(target: string, endsAfter: number): Promise<ChangePage | undefined> {
  const { received } = await api.open(target, {})
  const chunks: Buffer[] = []
  for await (const chunk of received) {
    chunks.push(chunk as Buffer)
    if (chunks.reduce((sum, { length }) => sum + length, 0) >= endsAfter) {
      received.destroy()
      return undefined
    }
  }
  const text = Buffer.concat(chunks).toString()
  return pageIn({ status: received.statusCode, json: JSON.parse(text), text } as Parameters<typeof pageIn>[0])
}

test('a client that ends at 500 random moments while it reads, and continues with its last stored cursor, ends with the list', async () => {
  const random = seeded(5)
  await Promise.all(Array.from({ length: entities }, (_, at) => store(at, 1)))
  await publish()
  const copy = new Map<string, ChangeRow>()
  let cursor: string | undefined
  const step = async (endsAfter: number, storesCursor: boolean): Promise<boolean> => {
    const query = new URLSearchParams({ limit: String(1 + random.below(9)), ...(cursor !== undefined && { cursor }) })
    const page = await read(`/api/v1/record-changes?${query}`, endsAfter)
    if (page === undefined) return true
    for (const row of page.items)
      if (row.deleted) copy.delete(row.id)
      else copy.set(row.id, row)
    if (storesCursor) cursor = page.cursor
    return page.hasMore
  }
  for (let ended = 0; ended < breaks; ended++) {
    // Within an answer, or after its rows were stored and before its cursor was.
    if (random.chance(0.5)) await step(random.below(3_000), true)
    else await step(Number.POSITIVE_INFINITY, false)
    if (random.chance(0.3)) await step(Number.POSITIVE_INFINITY, true)
    if (random.chance(0.2)) await store(random.below(entities / 2), 2 + ended)
    // An entity that is deleted never comes back.
    if (random.chance(0.05)) await store(entities / 2 + random.below(entities / 2), 2, true)
    if (random.chance(0.1)) await publish()
  }
  await publish()
  for (let walks = 0; walks < 2; walks++) while (await step(Number.POSITIVE_INFINITY, true));
  const pages = await Promise.all([1, 2, 3].map((page) => api.get(`/api/v1/records?limit=100&page=${page}`)))
  const listed = pages.flatMap(({ json }) => (json as { items: { id: string; data: unknown }[] }).items)
  const held = [...copy.values()].map(({ changedAt: _at, deleted: _not, ...item }) => item)
  const byId = (one: { readonly id: string }, other: { readonly id: string }) => (one.id < other.id ? -1 : 1)
  expect(held.length).toBeLessThan(entities)
  expect(held.sort(byId)).toEqual(listed.sort(byId))
})
