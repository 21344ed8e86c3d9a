import { startProgressBar } from '../../../src/core/process/progressBar.ts'
import { apiRequest, ask } from '../http.ts'
import type { HttpRequest } from '../load.ts'
import type { Stage } from '../stage.ts'
import type { SampleForm } from './forms.ts'
import { pageLimit, plainList } from './plainIndex.ts'
import { holds, isMisspelt, type TypedKind, typedKinds, typedTexts } from './typed.ts'

export type Pools = ReadonlyMap<TypedKind, readonly string[]>

type Way = 'exact' | 'similar' | 'neither'

const poolSize = 120
/** So many texts are made for each text of a pool, because some do not find rows of their kind. */
const spare = 2
const fewest = 50

/** `exact`: every title on the first page contains the typed text; `similar`: none does. */
function wayOf(titles: readonly string[], typed: string): Way {
  const matches = titles.filter((title) => holds(title, typed)).length
  if (titles.length === 0 || (matches > 0 && matches < titles.length)) return 'neither'
  return matches > 0 ? 'exact' : 'similar'
}

/** Of the made texts, keeps those for which the API finds rows of their kind. Rejects if there are too few. */
export async function choosePools(origin: string, team: ServedTeam, stage: Stage): Promise<Pools> {
  const bar = startProgressBar(`Trying what is typed, ${team.name}`, typedKinds.length, process.stdout)
  const pools = new Map<TypedKind, readonly string[]>()
  try {
    for (const kind of typedKinds) {
      const way = isMisspelt(kind) ? 'similar' : 'exact'
      const fit: string[] = []
      for (const typed of typedTexts(kind, team.forms, spare * poolSize)) {
        if (fit.length === poolSize) break
        const { json } = await ask(origin, formsRequest(team, typed), stage)
        const titles = (json as FormsPage).items.map(({ title }) => title)
        if (wayOf(titles, typed) === way) fit.push(typed)
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

export type ServedTeam = {
  readonly name: string
  readonly id: string
  readonly accountKey: string
  readonly forms: readonly SampleForm[]
}

type FormsPage = { readonly totalDocs: number; readonly items: readonly { id: string; title: string }[] }

/** The first page of forms that match the typed text, or of all forms without text. */
export const formsRequest = ({ accountKey }: ServedTeam, typed?: string): HttpRequest =>
  apiRequest(accountKey, 'forms', { limit: pageLimit, ...(typed !== undefined && { titleContains: typed }) })

/** Rejects unless API and plain index have as many titles of a team as were made, with the same newest ones. */
export async function expectSameLists(origin: string, team: ServedTeam, stage: Stage): Promise<void> {
  const newest = team.forms.slice(-pageLimit).map(({ id }) => id)
  const expected = [team.forms.length, ...newest.reverse()].join()
  const { totalDocs, items } = (await ask(origin, formsRequest(team), stage)).json as FormsPage
  if ([totalDocs, ...items.map(({ id }) => id)].join() !== expected)
    throw new Error(`the API, ${team.name}: not the list that was stored`)
  const { hits } = (await ask(stage.urls.ELASTICSEARCH_URL, plainList(team.id), stage)).json as {
    hits: { total: { value: number }; hits: { _source: { form: { id: string } } }[] }
  }
  if ([hits.total.value, ...hits.hits.map(({ _source }) => _source.form.id)].join() !== expected)
    throw new Error(`the plain index, ${team.name}: not the list that was stored`)
}
