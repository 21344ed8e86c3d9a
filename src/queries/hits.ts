import { type RawObject, rawElements, rawMembers } from '../domain/rawJson.ts'
import { ReplicaUnavailable } from './unavailable.ts'

/** What a search found: how many in all, and the `summary` of each hit as raw text. */
export type Hits = { readonly total: number; readonly summaries: readonly string[] }

/** Reads the answer of a `_search` that counts. Throws `ReplicaUnavailable` unless every shard has answered in full. */
export function readHits(text: string): Hits {
  const hits = rawMembers(wholeAnswer(text).get('hits') ?? '')
  const total = rawMembers(hits.get('total') ?? '')
  if (total.get('relation') !== '"eq"') throw new ReplicaUnavailable('partial', 'the total is not exact')
  return { total: Number(total.get('value')), summaries: summariesOf(hits) }
}

/** The `summary` of each hit of a `_search`, as raw text. Throws as `readHits`. */
export const readSummaries = (text: string): string[] => summariesOf(rawMembers(wholeAnswer(text).get('hits') ?? ''))

/** The aggregations of a `_search`. Throws as `readHits`. */
export const readAggregations = (text: string): unknown => JSON.parse(wholeAnswer(text).get('aggregations') ?? '{}')

function wholeAnswer(text: string): RawObject {
  const answer = rawMembers(text)
  if (answer.get('timed_out') !== 'false') throw new ReplicaUnavailable('partial', 'the search timed out')
  if (rawMembers(answer.get('_shards') ?? '').get('failed') !== '0')
    throw new ReplicaUnavailable('partial', 'a shard failed')
  return answer
}

const summariesOf = (hits: RawObject): string[] => rawElements(hits.get('hits') ?? '').map(summaryOf)

function summaryOf(hit: string): string {
  const summary = rawMembers(rawMembers(hit).get('_source') ?? '').get('summary')
  if (summary === undefined) throw new ReplicaUnavailable('partial', 'a hit has no summary')
  return summary
}
