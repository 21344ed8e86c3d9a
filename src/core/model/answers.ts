import { rawElements, rawMembers } from '../json/rawJson.ts'

/*
 * The index terms by which submissions are found and counted by their answers. Each value of an answer is one term: its code, then the value.
 * The code selects one of sixteen fields, so a count of one code's values reads few terms of other codes.
 */

const fieldCount = 16
/** Bounds the size of a list document: a submission is found by its first 1,000 values only. */
const maxValues = 1_000
/** Longer values are not indexed (`ignore_above` in the mapping), nor are answers with longer codes. */
export const maxValueCharacters = 256

/** The field of the list document with the terms of a code. */
export const answerField = (code: string): string => `answers.${fieldOf(code)}`

function fieldOf(code: string): number {
  let hash = 0
  for (let at = 0; at < code.length; at++) hash = (hash * 31 + code.charCodeAt(at)) % 65_521
  return hash % fieldCount
}

/** The beginning of a code's terms. Without the length, code `ab` with value `c` would have the term of code `a` with value `bc`. */
export const answerBeginning = (code: string): string => `${code.length}.${code}`

/**
 * The terms of `data` (the JSON object of a submission's answers): JSON of field number → terms. Values are strings without quotes, and numbers,
 * true and false as written. A list has the values of its elements; an object, null, or a list in a list has none.
 */
export function answerTerms(data: string): string {
  const terms: Record<number, string[]> = {}
  let left = maxValues
  for (const [code, raw] of rawMembers(data)) {
    if (code.length > maxValueCharacters) continue
    const field = fieldOf(code)
    const beginning = answerBeginning(code)
    for (const element of raw[0] === '[' ? rawElements(raw) : [raw]) {
      const value = valueIn(element)
      if (value === undefined || value.length > maxValueCharacters || left-- <= 0) continue
      const others = terms[field] ?? []
      others.push(beginning + value)
      terms[field] = others
    }
  }
  return JSON.stringify(terms)
}

/** The longest JSON of an indexed string: every character is an escape. */
const longestText = maxValueCharacters * String.raw`\u0000`.length + '""'.length

/** The indexed value of JSON text; undefined for null, objects, lists, and text that is too long however it is escaped. */
function valueIn(raw: string): string | undefined {
  const first = raw[0]
  if (raw.length > longestText) return undefined
  if (first === '"') return raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1)
  return first === '{' || first === '[' || first === 'n' ? undefined : raw
}
