import { rawElements, rawMembers } from '../json/rawJson.ts'

/*
 * Index terms for finding and counting submissions by their answers. Each value is one term: the code of its form field, then the value. The answers `{"q1":
 * "A", "q2": ["B", 3]}` have the terms `2.q1A`, `2.q2B` and `2.q23`; the 2 is the length of the code. A hash of the code selects one of sixteen fields, so a
 * count of one code reads few terms of others.
 */

const fieldCount = 16
const maxValues = 1_000
/** Longer values, and answers with longer codes, are not indexed. As `ignore_above` of other members. */
export const maxValueCharacters = 256

export const answerField = (code: string): string => `answers.${fieldOf(code)}`

const hashModulus = 65_521

function fieldOf(code: string): number {
  let hash = 0
  for (let at = 0; at < code.length; at++) hash = (hash * 31 + code.charCodeAt(at)) % hashModulus
  return hash % fieldCount
}

/** Without the length, code `ab` with value `c` would have the term of code `a` with value `bc`. */
export const answerBeginning = (code: string): string => `${code.length}.${code}`

/**
 * From a submission's answers (JSON) to JSON, field number → terms. Values are strings without quotes, and numbers, true and false as written. A list has the
 * values of its elements. Objects, null, and lists in lists have none.
 */
export function answerTerms(data: string): string {
  const terms: Record<number, string[]> = {}
  let valuesLeft = maxValues
  for (const [code, raw] of rawMembers(data)) {
    if (code.length > maxValueCharacters) continue
    const field = fieldOf(code)
    const beginning = answerBeginning(code)
    for (const element of raw[0] === '[' ? rawElements(raw) : [raw]) {
      const value = valueIn(element)
      if (value === undefined || value.length > maxValueCharacters || valuesLeft-- <= 0) continue
      const fieldTerms = terms[field] ?? []
      fieldTerms.push(beginning + value)
      terms[field] = fieldTerms
    }
  }
  return JSON.stringify(terms)
}

/** If every character is an escape. */
const maxJsonCharacters = maxValueCharacters * String.raw`\u0000`.length + '""'.length

/** Undefined if the element has no value, or one that must be too long. */
function valueIn(raw: string): string | undefined {
  const first = raw[0]
  if (raw.length > maxJsonCharacters) return undefined
  if (first === '"') return raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1)
  return first === '{' || first === '[' || first === 'n' ? undefined : raw
}
