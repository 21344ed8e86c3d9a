import type { EntityId } from '../../src/core/model/ids.ts'

/**
 * Whether the value of a record without the submission's key is about the submission `id` nevertheless. A value that breaks the contract (broken JSON, a record
 * as a JSON string or in an envelope) is searched as text: a producer of wrong keys may produce wrong values, too.
 */
export function isAboutSubmission(value: Buffer | null, id: EntityId): boolean {
  // For speed: nearly every value lacks the id. (No serializer escapes a character of an id.)
  if (value === null || !value.includes(id)) return false
  const text = value.toString()
  const content = contentOf(text)
  if (content.kind === 'submission') return String(content.id) === id
  // A form or an account key that has the same id by chance.
  if (content.kind === 'other') return false
  return isTextAbout(text, id)
}

type Content = { readonly kind: 'submission'; readonly id: unknown } | { readonly kind: 'other' | 'unknown' }

/** By the members that a record has. `unknown`: it is no record. */
function contentOf(text: string): Content {
  try {
    const { form, key, submission } = (JSON.parse(text) ?? {}) as Partial<Record<string, unknown>>
    if (typeof submission === 'object' && submission !== null && 'id' in submission)
      return { kind: 'submission', id: submission.id }
    const isOther = submission === undefined && (form !== undefined || key !== undefined)
    return { kind: isOther ? 'other' : 'unknown' }
  } catch {
    return { kind: 'unknown' }
  }
}

/** Whether the text has `"id":"<id>"`, also in JSON strings such as `{\"id\":\"<id>\"}`, and is not about a form. */
function isTextAbout(textWithEscapes: string, id: EntityId): boolean {
  const text = textWithEscapes.replaceAll('\\', '')
  const isForm = text.includes('"form"') && !text.includes('"submission"')
  // Matches `"id" : "s1"` and `"id":s1`, but not `"id":"s12"`.
  return !isForm && new RegExp(`"id"\\s*:\\s*"?${id.replaceAll('.', '\\.')}(?![\\w.:-])`).test(text)
}
