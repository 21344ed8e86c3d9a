import { startProgressBar } from '../../../src/core/process/progressBar.ts'
import type { Stage } from '../stage.ts'
import { type ServedTeam, titlesFound } from './titleSearch.ts'
import { holds, isMisspelt, type TypedKind, typedKinds, typedTexts } from './typed.ts'

/** What is typed for one team, by kind: texts that find what their kind says, all words as typed, or similar ones alone. */
export type Pools = ReadonlyMap<TypedKind, readonly string[]>

type Way = 'exact' | 'similar' | 'neither'

const wanted = 120
/** So many are made for each that is wanted: some find something else. */
const spare = 2
const fewest = 50

/** Which way a search went by the titles it found: all of them hold what was typed, or none does. */
export function wayOf(titles: readonly string[], typed: string): Way {
  const held = titles.filter((title) => holds(title, typed)).length
  if (titles.length === 0 || (held > 0 && held < titles.length)) return 'neither'
  return held > 0 ? 'exact' : 'similar'
}

/** Makes what is typed, and asks the API which of it goes the way of its kind. Rejects when there is too little of one. */
export async function choosePools(origin: string, team: ServedTeam, stage: Stage): Promise<Pools> {
  const bar = startProgressBar(`Trying what is typed, ${team.name}`, typedKinds.length, process.stdout)
  const pools = new Map<TypedKind, readonly string[]>()
  try {
    for (const kind of typedKinds) {
      const way = isMisspelt(kind) ? 'similar' : 'exact'
      const fit: string[] = []
      for (const { typed } of typedTexts(kind, team.forms, spare * wanted)) {
        if (fit.length === wanted) break
        if (wayOf(await titlesFound(origin, team, typed, stage), typed) === way) fit.push(typed)
      }
      if (fit.length < fewest) throw new Error(`${team.name}: only ${fit.length} texts of the kind "${kind}"`)
      pools.set(kind, fit)
      bar.reach(pools.size)
    }
  } finally {
    bar.end()
  }
  return pools
}
