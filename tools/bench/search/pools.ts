import { startProgressBar } from '../../../src/core/process/progressBar.ts'
import type { Stage } from '../stage.ts'
import { askApi, type ServedTeam } from './api.ts'
import { holds, isMisspelt, type TypedKind, type TypedText, typedKinds, typedTexts } from './typed.ts'

/** What is typed for one team, by kind. */
export type Pools = ReadonlyMap<TypedKind, Pool>
export type Pool = {
  /** As they were made, whatever is found. */
  readonly made: readonly TypedText[]
  /** Those that find what their kind says: all words as typed, or similar ones alone. */
  readonly fit: readonly TypedText[]
}

export type Way = 'exact' | 'similar' | 'neither'

const wanted = 120
/** So many may not fit for each that does. */
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
  const pools = new Map<TypedKind, Pool>()
  try {
    for (const kind of typedKinds) {
      const made = typedTexts(kind, team.forms, spare * wanted)
      const fit = await fitting(made, isMisspelt(kind) ? 'similar' : 'exact', origin, team, stage)
      if (fit.length < fewest) throw new Error(`${team.name}: only ${fit.length} texts of the kind "${kind}"`)
      pools.set(kind, { made, fit })
      bar.reach(pools.size)
    }
  } finally {
    bar.end()
  }
  return pools
}

async function fitting(
  made: readonly TypedText[],
  way: Way,
  origin: string,
  team: ServedTeam,
  stage: Stage,
): Promise<TypedText[]> {
  const fit: TypedText[] = []
  for (const text of made) {
    if (fit.length === wanted) break
    const { items } = await askApi(origin, team, { typed: text.typed }, stage)
    const titles = items.map(({ title }) => title)
    if (wayOf(titles, text.typed) === way) fit.push(text)
  }
  return fit
}
