import { type List, truthFor } from '../../model/follower.ts'
import { submissionEntity } from '../../support/entities.ts'
import type { HistoryRecord, Json } from '../../support/randomHistory.ts'

/** A team's list after a history: summaries in the order of ids, without deleted entities. */
export const listAfter = (records: readonly HistoryRecord[], list: List, team: string): Json[] =>
  [...truthFor({ list, team }, records).values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))

/** Answers with numbers that programs read differently: a double that some round, an integer beyond 64 bits, one beyond a double. */
export const manyDigits = '{"double":0.7,"long":12345678901234567890123,"beyond":1e400}'

/** The record of a submission with answers, and with the greatest serial number that there can be. */
export function manyDigitsRecord(
  team: string,
  id: string,
  data = manyDigits,
): { readonly key: string; readonly value: string } {
  const submission = submissionEntity({ id, serialNumber: Number.MAX_SAFE_INTEGER, data: {} })
  const value = JSON.stringify({ revision: 1, submission }).replace('"data":{}', () => `"data":${data}`)
  return { key: `${team}/${id}`, value }
}

/** Parses output with one JSON value per line. */
export const jsonLines = (said: string): Json[] =>
  said
    .split('\n')
    .filter(Boolean)
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
