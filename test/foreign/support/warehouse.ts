import { type List, truthFor } from '../../model/follower.ts'
import type { HistoryRecord, Json } from '../../support/randomHistory.ts'

/** A team's list after a history: summaries in the order of ids, without deleted entities. */
export const listAfter = (records: readonly HistoryRecord[], list: List, team: string): Json[] =>
  [...truthFor({ list, team }, records).values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))

/** Parses output with one JSON value per line. */
export const jsonLines = (said: string): Json[] =>
  said
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Json)

/** A row of a warehouse as the API would serve it: camelCase names, parsed JSON, instants in UTC with milliseconds. */
export function servedRow(row: Json): Json {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [camelCase(name), servedValue(name, value)]))
}

const camelCase = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

function servedValue(name: string, value: unknown): unknown {
  if (typeof value !== 'string') return value
  if (/(_at|At)$/.test(name)) return new Date(value).toISOString()
  return /^[[{]/.test(value) ? JSON.parse(value) : value
}
