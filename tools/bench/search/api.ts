import { askJson } from '../askJson.ts'
import type { HttpRequest } from '../load/job.ts'
import type { Stage } from '../stage.ts'
import type { SampleForm } from './forms.ts'

export type TitleQuestion = {
  /** Everything when it is left out. */
  readonly typed?: string
  /** Only the form that was changed at that moment. */
  readonly changedAt?: string
}

/** A team as the API serves it. */
export type ServedTeam = {
  /** As tables call it. */
  readonly name: string
  readonly id: string
  readonly accountKey: string
  /** All of them, in the order of created time. */
  readonly forms: readonly SampleForm[]
}

export type FormsPage = { readonly total: number; readonly items: readonly { id: string; title: string }[] }

export const pageLimit = 20

/** Asks the API for the first page of forms. */
export function formsRequest({ accountKey }: ServedTeam, { typed, changedAt }: TitleQuestion): HttpRequest {
  const query = new URLSearchParams({
    limit: String(pageLimit),
    ...(typed !== undefined && { titleContains: typed }),
    ...(changedAt !== undefined && { changedSince: changedAt, changedUntil: changedAt }),
  })
  return {
    method: 'GET',
    path: `/api/v1/forms?${query}`,
    headers: { authorization: `Bearer ${accountKey}` },
    expectedStatus: 200,
  }
}

/** The first page of forms, as the API answers it. */
export async function askApi(
  origin: string,
  team: ServedTeam,
  question: TitleQuestion,
  { signal }: Stage,
): Promise<FormsPage> {
  const { totalDocs, items } = (await askJson(origin, formsRequest(team, question), signal)) as {
    totalDocs: number
    items: FormsPage['items']
  }
  return { total: totalDocs, items }
}
