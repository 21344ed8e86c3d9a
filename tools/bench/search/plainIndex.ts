import { newestFirst } from '../../../src/api/search/clauses.ts'
import { type IndexDefinition, readDefinition } from '../../../src/core/stores/indices.ts'
import type { HttpRequest } from '../load/job.ts'
import { pageLimit } from './api.ts'
import { recordOf, type SampleForm } from './forms.ts'

/** What a first attempt asks: both parts in one search, or one of them alone. */
export type PlainPart = 'match or wildcard' | 'match' | 'wildcard'

export const plainIndex = 'plain-forms'

/** One text field and one keyword for the titles of all teams; settings and order as in the replica. */
export async function plainDefinition(): Promise<Pick<IndexDefinition, 'settings' | 'mappings'>> {
  const { settings } = await readDefinition('forms')
  const properties = {
    teamId: { type: 'keyword' },
    position: { type: 'keyword' },
    createdAt: { type: 'date', format: 'strict_date_time' },
    title: {
      type: 'text',
      analyzer: 'standard',
      fields: { lower: { type: 'keyword', normalizer: 'lowercase' } },
    },
    form: { type: 'object', enabled: false },
  }
  return { settings, mappings: { dynamic: 'strict', _routing: { required: true }, properties } }
}

/** A form as a document of that index, with all that a list shows of it. */
export function plainSource(sample: SampleForm): string {
  const { teamId, title, createdAt } = sample
  const { form } = JSON.parse(recordOf(sample).value) as { form: unknown }
  return JSON.stringify({ teamId, position: positionOf(sample), createdAt, title: title.text, form })
}

/** Text that sorts as created time, then id. */
const positionOf = ({ createdAt, id }: SampleForm): string => `${createdAt}|${id}`

/** Asks for the first rows of a team's titles, newest first, and for their total. */
export const plainSearch = (teamId: string, typed: string, part: PlainPart): HttpRequest =>
  search(teamId, {
    filter: [{ term: { teamId } }],
    should: clausesOf(typed)[part],
    minimum_should_match: 1,
  })

/** Asks for one form only, for whether it is found. */
export const plainSearchOne = (form: SampleForm, typed: string): HttpRequest =>
  search(form.teamId, {
    filter: [{ term: { teamId: form.teamId } }, { term: { position: positionOf(form) } }],
    should: clausesOf(typed)['match or wildcard'],
    minimum_should_match: 1,
  })

/** Asks for the first rows of all that a team has, and for their total. */
export const plainList = (teamId: string): HttpRequest => search(teamId, { filter: [{ term: { teamId } }] })

const search = (teamId: string, bool: Readonly<Record<string, unknown>>): HttpRequest => ({
  method: 'POST',
  path: `/${plainIndex}/_search?routing=${teamId}`,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ query: { bool }, sort: newestFirst, track_total_hits: true, size: pageLimit }),
  expectedStatus: 200,
})

function clausesOf(typed: string): Readonly<Record<PlainPart, readonly unknown[]>> {
  const match = { match: { title: { query: typed, fuzziness: 'AUTO', operator: 'and' } } }
  const wildcard = { wildcard: { 'title.lower': { value: `*${typed.toLowerCase()}*` } } }
  return { 'match or wildcard': [match, wildcard], match: [match], wildcard: [wildcard] }
}
