import { rawElements, rawMembers } from '../json/rawJson.ts'

/*
 * The answers by which submissions are found and counted. Each value of an answer is one term, made of its code and itself. The terms are in
 * sixteen fields, chosen by the code, so that whoever counts the values of one code reads few of other codes.
 */

const fieldCount = 16
/** Bounds what a list document holds: of one submission, so many values are found, in the order in which they were sent. */
const maxValues = 1_000
/** Longer values of submissions are not indexed: `ignore_above` in their mapping. Nor are answers with longer codes. */
export const maxValueCharacters = 256

/** The field of the list document that holds the answers with a code. */
export const answerField = (code: string): string => `answers.${fieldOf(code)}`

function fieldOf(code: string): number {
  let hash = 0
  for (let at = 0; at < code.length; at++) hash = (hash * 31 + code.charCodeAt(at)) % 65_521
  return hash % fieldCount
}

/** How the terms of a code begin: the length of the code keeps apart what belongs to the code and to the value. */
export const answerBeginning = (code: string): string => `${code.length}.${code}`

/**
 * The terms of `data`, the JSON of a submission's answers, as JSON by field. An answer has the value that is served: text without its
 * quotes, numbers, true and false as they are written; a list has those of its elements. Objects and lists in lists have none.
 */
export function answerTerms(data: string): string {
  const terms: Record<number, string[]> = {}
  let left = maxValues
  for (const [code, raw] of rawMembers(data)) {
    if (code.length > maxValueCharacters) continue
    const [field, beginning] = [fieldOf(code), answerBeginning(code)]
    for (const each of raw[0] === '[' ? rawElements(raw) : [raw]) {
      const value = valueIn(each)
      if (value === undefined || value.length > maxValueCharacters || left-- <= 0) continue
      const others = terms[field] ?? []
      others.push(beginning + value)
      terms[field] = others
    }
  }
  return JSON.stringify(terms)
}

/** The longest JSON of a text that is indexed: each character an escape. */
const longestText = maxValueCharacters * String.raw`\u0000`.length + '""'.length

/** The value of JSON text; undefined for null, objects, lists and what is far too long. */
function valueIn(raw: string): string | undefined {
  const first = raw[0]
  if (raw.length > longestText) return undefined
  if (first === '"') return raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1)
  return first === '{' || first === '[' || first === 'n' ? undefined : raw
}
