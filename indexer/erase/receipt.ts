import type { DocumentId } from '../../src/core/model/ids.ts'
import type { Instant } from '../../src/core/model/instant.ts'

export type Place = {
  readonly engine: 'elasticsearch' | 'kafka' | 'redis' | 'api'
  readonly name: string
  /**
   * `removed`: by this run. `key`: the key alone stays, by which the deletion is known. `memory`: in the memory of processes alone, where
   * nobody is served it. `left`: it is there, or nobody can tell.
   */
  readonly state: 'nothing' | 'removed' | 'key' | 'memory' | 'left'
  /** Until when something is left at the latest; null where nothing is, and where nobody can tell. */
  readonly until: Instant | null
  readonly detail: string
}

/** Where data of a deleted submission was looked for, and what is left of it. `erased`: no place is `left`. */
export type Receipt = {
  readonly key: DocumentId
  readonly deletedAt: Instant
  readonly lookedAt: Instant
  readonly erased: boolean
  readonly places: readonly Place[]
}

/** A line for each place, what is left last, and one for the result. */
export function receiptLines({ key, deletedAt, lookedAt, erased, places }: Receipt): string[] {
  const isLeft = ({ state }: Place): number => Number(state === 'left')
  const sorted = places.toSorted((a, b) => isLeft(a) - isLeft(b))
  const lines = sorted.map(({ state, name, until, detail }) =>
    [state, name, until === null ? detail : `${detail}; until ${until} at the latest`].join('\t'),
  )
  const result = erased ? 'nothing is left on disk' : `left in ${places.filter(isLeft).length} places`
  return [...lines, `${key}, deleted ${deletedAt}: ${result}; looked ${lookedAt}`]
}
