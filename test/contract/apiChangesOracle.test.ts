import { toInstant } from '../../src/core/model/instant.ts'
import { type TestAnswer, useApi } from '../support/api.ts'
import { askChanges, type ChangeRow } from '../support/changeFeed.ts'
import { submissionEntity } from '../support/entities.ts'
import { type Random, seeded } from '../support/random.ts'
import type { TestRecord } from '../support/replica.ts'

const teams = ['team-1', 'team-2']
const [rounds, entities, partitions] = [40, 12, 3]
const api = useApi({ teams, watermark: toInstant(0) })

/** A client that keeps a copy, page by page. */
class Follower {
  readonly #ask: (target: string) => Promise<TestAnswer>
  readonly #path: string
  #cursor: string | undefined
  readonly copy = new Map<string, ChangeRow>()

  constructor(team: string, query: string) {
    this.#ask = (target) => api.get(target, { key: api.keyOf(team) })
    this.#path = `/api/v1/record-changes?${query}`
  }

  /** Applies one page; whether there is more. */
  async step(): Promise<boolean> {
    const { items, cursor, hasMore } = await askChanges(this.#ask, this.#path, this.#cursor)
    this.#cursor = cursor
    for (const row of items)
      if (row.deleted) this.copy.delete(row.id)
      else this.copy.set(row.id, row)
    return hasMore
  }

  async finish(): Promise<void> {
    while (await this.step());
  }
}

/** Changes a few entities, each in a partition of its own as by Kafka's keys, and makes them visible now or with a later round. */
async function change(random: Random, state: Map<string, 'live' | 'deleted'>, seed: number, revision: number) {
  const records: TestRecord[] = []
  for (let count = random.below(4); count >= 0; count--) {
    const [at, team] = [random.below(entities), random.pick(teams)]
    const [id, name] = [`s${seed}-${at}`, `${team}/${at}`]
    // Nothing comes back after its deletion.
    if (state.get(name) === 'deleted') continue
    const isDeleted = random.chance(0.1)
    state.set(name, isDeleted ? 'deleted' : 'live')
    const entity = isDeleted ? null : submissionEntity({ id, data: { revision } })
    await api.replica.storeSubmissions({
      team,
      id,
      revision: revision * 10 - count,
      partition: at % partitions,
      entity,
    })
  }
  await api.replica.storeSubmissions(...records)
  if (random.chance(0.7)) await publish()
}

const publish = (): Promise<void> =>
  api.replica.publishPositions(toInstant(0), { lists: ['submissions/team-1', 'submissions/team-2'] })

test.each([1, 2])(
  'clients that follow the feed end with exactly the list, whatever changes between their pages (seed %i)',
  async (seed) => {
    const random = seeded(seed)
    const followers = teams.flatMap((team) =>
      ['limit=1', 'limit=3&view=full', 'limit=1000&fields=data'].map((query) => ({
        team,
        follower: new Follower(team, query),
      })),
    )
    const state = new Map<string, 'live' | 'deleted'>()
    for (let round = 1; round <= rounds; round++) {
      await change(random, state, seed, round)
      for (const { follower } of followers) if (random.chance(0.3)) await follower.step()
    }
    await publish()
    for (const { team, follower } of followers) {
      // The walk that was open, and one of what has changed since it began.
      await follower.finish()
      await follower.finish()
      const { json } = await api.get('/api/v1/records?limit=100&fields=id,data', { key: api.keyOf(team) })
      const { items } = json as { items: { id: string; data: unknown }[] }
      const held = [...follower.copy.values()].map(({ id, data }) => ({ id, data }))
      const byId = (one: { id: string }, other: { id: string }): number => (one.id < other.id ? -1 : 1)
      expect(held.sort(byId)).toEqual(items.sort(byId))
    }
  },
)
