import { type Random, seededRandom } from '../../sample/random.ts'
import type { Change } from '../replica.ts'
import { newestMs, submissionMaker } from '../submissions.ts'
import type { State } from './state.ts'

/** A submission of which records are made. */
export type Entity = { readonly key: string; record(revision: number): Change; readonly deletion: Change }

export const updatedAtOf = (revision: number): string => new Date(newestMs + revision * 1_000).toISOString()

/** The same for the same seed. Submissions of about 4 KB, of 1,000 teams. */
export function entityMaker(seed: string): () => Entity {
  const random = seededRandom(seed)
  const make = submissionMaker(seed, true)
  return () => {
    const { key, value } = make(`team_${random.below(1_000)}`, newestMs)
    const { submission } = JSON.parse(value) as { readonly submission: object }
    const record = (revision: number): Change => ({
      key,
      value: JSON.stringify({ revision, submission: { ...submission, updatedAt: updatedAtOf(revision) } }),
    })
    return { key, record, deletion: { key, value: null } }
  }
}

export type Feed = { readonly changes: readonly Change[]; readonly wanted: State }

const newShare = 0.3
const deletedShare = 0.1

/** Submissions that are created, updated and, if `hasDeletions`, deleted for good. `wanted`: the state after the last record. */
export function mixedFeed(seed: string, records: number, hasDeletions: boolean): Feed {
  const random: Random = seededRandom(`${seed}/mixed`)
  const make = entityMaker(seed)
  const live: { readonly entity: Entity; revision: number }[] = []
  const next = (): Change => {
    const draw = random.float()
    const at = random.below(Math.max(1, live.length))
    const chosen = live[at]
    if (chosen === undefined || draw < newShare) {
      const entity = make()
      live.push({ entity, revision: 1 })
      return entity.record(1)
    }
    if (hasDeletions && draw < newShare + deletedShare) {
      live.splice(at, 1)
      return chosen.entity.deletion
    }
    chosen.revision += 1
    return chosen.entity.record(chosen.revision)
  }
  const changes = Array.from({ length: records }, next)
  return { changes, wanted: new Map(live.map(({ entity, revision }) => [entity.key, updatedAtOf(revision)])) }
}
