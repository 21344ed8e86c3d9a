import { type List, truthFor } from '../../model/follower.ts'
import { submissionEntity } from '../../support/entities.ts'
import type { HistoryRecord, Json } from '../../support/randomHistory.ts'
import { readExactly } from '../../support/readExactly.ts'

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

/** The messages in the output of a source of Airbyte or Singer, each a line. Other lines are its log. */
export const messageLines = (said: string): Json[] =>
  // No regular expression: it takes U+2028, which texts may have, for the end of a line.
  jsonLines(
    said
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .join('\n'),
  )

/** Removes null members, as Airbyte does. */
export function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)]))
}

/** Columns of nested values, which warehouses hold as JSON. */
const nested = new Set([
  'localization',
  'systemText',
  'fields',
  'report',
  'examinee',
  'metadata',
  'data',
  'result',
  'reportResult',
])
/** Ends the name of a column in which dlt stores what its column cannot hold. */
const variant = '__v_text'

/** A row of a warehouse as the API would serve it: camelCase names, nested values as by `readExactly`, instants in UTC with milliseconds. */
export function servedRow(row: Json): Json {
  const names = Object.keys(row).filter((name) => !name.endsWith(variant))
  const served = names.map((name) => [camelCase(name), row[name] ?? row[`${name}${variant}`] ?? null])
  return Object.fromEntries(served.map(([name, value]) => [name, servedValue(name, value)]))
}

const camelCase = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

function servedValue(name: string, value: unknown): unknown {
  if (typeof value !== 'string') return value
  if (name.endsWith('At')) return new Date(value).toISOString()
  return nested.has(name) ? readExactly(value) : value
}

/**
 * Rows as dlt stores them: with U+FFFD for NUL, and without the private character at the beginning of a text by which dlt marks decimals.
 */
export const loadedByDlt = (rows: readonly Json[]): Json[] =>
  withTexts([...rows], (text) => text.replaceAll('\0', '\ufffd').replace(/^\uf026(?=.)/, ''))

/** Parses JSON by Python, which writes numbers beyond a double as no JSON: the two that an `oddHistory` has. */
export const readPythonJson = (text: string): Json =>
  readExactly(text.replace(/-?Infinity(?!")/g, (found) => (found.startsWith('-') ? '"-1.5E+400"' : '"1e400"')))

/** The same JSON value with each text changed, names too. */
export function withTexts(value: Json, change: (text: string) => string): Json {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((each) => withTexts(each, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [change(name), withTexts(each, change)]))
}
