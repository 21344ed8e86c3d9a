import { newestFirst } from '../../../src/api/search/clauses.ts'
import { definitionOf, type IndexDefinition } from '../../../src/core/elasticsearch/indices.ts'
import type { HttpRequest } from '../load.ts'
import { recordOf, type SampleForm } from './forms.ts'

export const plainIndex = 'plain-forms'
export const pageLimit = 20

/** An ordinary index: one text field and one keyword for titles. Settings and sort order are those of the replica. */
export function plainDefinition(): Pick<IndexDefinition, 'settings' | 'mappings'> {
  const { settings } = definitionOf('forms', true)
  const properties: IndexDefinition['mappings']['properties'] = {
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

export function plainSource(sample: SampleForm): string {
  const { teamId, id, title, createdAt } = sample
  const { form } = JSON.parse(recordOf(sample).value) as { form: unknown }
  return JSON.stringify({ teamId, position: `${createdAt}|${id}`, createdAt, title: title.text, form })
}

/** The search of a first attempt: titles that match with one typo, or contain the typed text; newest first, with their total. */
export const plainSearch = (teamId: string, typed: string): HttpRequest =>
  search(teamId, {
    filter: [{ term: { teamId } }],
    should: [
      { match: { title: { query: typed, fuzziness: 'AUTO', operator: 'and' } } },
      { wildcard: { 'title.lower': { value: `*${typed.toLowerCase()}*` } } },
    ],
    minimum_should_match: 1,
  })

export const plainList = (teamId: string): HttpRequest => search(teamId, { filter: [{ term: { teamId } }] })

const search = (teamId: string, bool: Readonly<Record<string, unknown>>): HttpRequest => ({
  method: 'POST',
  path: `/${plainIndex}/_search?routing=${teamId}`,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ query: { bool }, sort: newestFirst, track_total_hits: true, size: pageLimit }),
  expectedStatus: 200,
})
