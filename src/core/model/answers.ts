import { rawElements, rawMembers } from '../json/rawJson.ts'

/*
 * Index terms for finding and counting submissions by their answers. Each value of an answer is one term: the code of its form field, then the
 * value. Example: the answers `{"q1": "A", "q2": ["B", 3]}` have the terms `2.q1A`, `2.q2B` and `2.q23`; the 2 is the length of the code. A hash of the code
 * selects one of sixteen fields of the index, so a count of the values of one code reads few terms of other codes.
 */

const fieldCount = 16
/** With more values, a list document would be too large. */
const maxValues = 1_000
/** Longer values are not indexed, nor are answers with longer codes. The mapping has the same bound for other members (`ignore_above`). */
export const maxValueCharacters = 256

export const answerField = (code: string): string => `answers.${fieldOf(code)}`

/** A prime, so that similar codes get different hashes. */
const hashModulus = 65_521

function fieldOf(code: string): number {
  let hash = 0
  for (let at = 0; at < code.length; at++) hash = (hash * 31 + code.charCodeAt(at)) % hashModulus
  return hash % fieldCount
}

/** How each term of an answer begins. Without the length, code `ab` with value `c` would have the term of code `a` with value `bc`. */
export const answerBeginning = (code: string): string => `${code.length}.${code}`

/**
 * Makes the terms of a submission's answers, a JSON object. Returns JSON, field number → terms. Values are strings without quotes, and numbers, true and false
 * as written. A list has the values of its elements. Objects, null, and lists in lists have no values.
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

/** The length of the longest JSON of an indexed string: every character is an escape. */
const maxJsonCharacters = maxValueCharacters * String.raw`\u0000`.length + '""'.length

/** The value of an element's JSON. Undefined for null, objects and lists, and for JSON so long that its value must be too long. */
function valueIn(raw: string): string | undefined {
  const first = raw[0]
  if (raw.length > maxJsonCharacters) return undefined
  if (first === '"') return raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1)
  return first === '{' || first === '[' || first === 'n' ? undefined : raw
}
