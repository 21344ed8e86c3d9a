import type { EntityId } from '../../src/core/model/ids.ts'

/**
 * Whether a value under another key is of this submission by what it says itself. A producer that makes wrong keys makes wrong values, too, so
 * what is no record is searched as text: broken JSON, a record within a string, or within an envelope.
 */
export function saysId(value: Buffer | null, id: EntityId): boolean {
  // Nearly every value: an id is in it as it is, as no encoder escapes one of its characters.
  if (value === null || !value.includes(id)) return false
  const text = value.toString()
  const said = recordIn(text)
  return said === undefined ? mentions(text, id) : String(said.submission?.id) === id
}

/** The record that a value is; undefined for all else. */
function recordIn(text: string): { readonly submission?: { readonly id?: unknown } } | undefined {
  try {
    const { form, key, submission } = (JSON.parse(text) ?? {}) as Partial<Record<string, unknown>>
    if (typeof submission === 'object' && submission !== null && 'id' in submission) return { submission }
    // Another entity may have the id of a submission.
    return submission === undefined && (form !== undefined || key !== undefined) ? {} : undefined
  } catch {
    return undefined
  }
}

/** Whether `"id":"<id>"` is in the text, however often it was quoted, and not of a form. */
function mentions(quoted: string, id: EntityId): boolean {
  const text = quoted.replaceAll('\\', '')
  const isForm = text.includes('"form"') && !text.includes('"submission"')
  return !isForm && new RegExp(`"id"\\s*:\\s*"?${id.replaceAll('.', '\\.')}(?![\\w.:-])`).test(text)
}
