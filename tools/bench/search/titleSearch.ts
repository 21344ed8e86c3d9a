import { apiRequest, ask } from '../http.ts'
import type { HttpRequest } from '../load.ts'
import type { Stage } from '../stage.ts'
import type { SampleForm } from './forms.ts'
import { pageLimit, plainList } from './plainIndex.ts'

/** A team as the API serves it. */
export type ServedTeam = {
  /** As tables call it. */
  readonly name: string
  readonly id: string
  readonly accountKey: string
  /** All of them, in the order of created time. */
  readonly forms: readonly SampleForm[]
}

type FormsPage = { readonly totalDocs: number; readonly items: readonly { id: string; title: string }[] }

/** Asks the API for the first page of forms; of all when nothing is typed. */
export const formsRequest = ({ accountKey }: ServedTeam, typed?: string): HttpRequest =>
  apiRequest(accountKey, 'forms', { limit: pageLimit, ...(typed !== undefined && { titleContains: typed }) })

/** The titles on the first page that the API finds. */
export async function titlesFound(
  origin: string,
  team: ServedTeam,
  typed: string,
  stage: Stage,
): Promise<readonly string[]> {
  const { json } = await ask(origin, formsRequest(team, typed), stage)
  return (json as FormsPage).items.map(({ title }) => title)
}

/** Rejects unless API and plain index hold as many titles of a team as were made, and the same ones are newest. */
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
