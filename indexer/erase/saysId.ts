import type { EntityId } from '../../src/core/model/ids.ts'

/**
 * Whether a value under another key is of this submission, by the id in it. A producer of wrong keys may produce wrong values, too: a value that is no
 * record (broken JSON, a record in a string or an envelope) is searched as text.
 */
export function saysId(value: Buffer | null, id: EntityId): boolean {
  // The fast path, for nearly every value. JSON escapes no character of an id.
  if (value === null || !value.includes(id)) return false
  const text = value.toString()
  const record = recordIn(text)
  return record === undefined ? mentions(text, id) : String(record.submission?.id) === id
}

function recordIn(text: string): { readonly submission?: { readonly id?: unknown } } | undefined {
  try {
    const { form, key, submission } = (JSON.parse(text) ?? {}) as Partial<Record<string, unknown>>
    if (typeof submission === 'object' && submission !== null && 'id' in submission) return { submission }
    // A form or a key with the same id as the submission.
    return submission === undefined && (form !== undefined || key !== undefined) ? {} : undefined
  } catch {
    return undefined
  }
}

/** Whether the text has `"id":"<id>"`, at any depth of quoting, and is not about a form. */
function mentions(quoted: string, id: EntityId): boolean {
  const text = quoted.replaceAll('\\', '')
  const isForm = text.includes('"form"') && !text.includes('"submission"')
  return !isForm && new RegExp(`"id"\\s*:\\s*"?${id.replaceAll('.', '\\.')}(?![\\w.:-])`).test(text)
}
