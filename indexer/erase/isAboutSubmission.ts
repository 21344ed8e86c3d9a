import type { EntityId } from '../../src/core/model/ids.ts'

/**
 * Whether the value of a record with a wrong key is about the submission `id`. A value that is no record (broken JSON, a record in a string or an envelope) is
 * searched as text: a producer of wrong keys may produce wrong values, too.
 */
export function isAboutSubmission(value: Buffer | null, id: EntityId): boolean {
  // Nearly every value ends here. Serializers escape no character of an id.
  if (value === null || !value.includes(id)) return false
  const text = value.toString()
  const record = recordIn(text)
  return record === undefined ? textIsAbout(text, id) : String(record.submission?.id) === id
}

function recordIn(text: string): { readonly submission?: { readonly id?: unknown } } | undefined {
  try {
    const { form, key, submission } = (JSON.parse(text) ?? {}) as Partial<Record<string, unknown>>
    if (typeof submission === 'object' && submission !== null && 'id' in submission) return { submission }
    // `{}`: a form or an account key, whose equal id is chance.
    return submission === undefined && (form !== undefined || key !== undefined) ? {} : undefined
  } catch {
    return undefined
  }
}

/** Whether the text has `"id":"<id>"`, however often quoted, and is not about a form. */
function textIsAbout(quoted: string, id: EntityId): boolean {
  const text = quoted.replaceAll('\\', '')
  const isForm = text.includes('"form"') && !text.includes('"submission"')
  return !isForm && new RegExp(`"id"\\s*:\\s*"?${id.replaceAll('.', '\\.')}(?![\\w.:-])`).test(text)
}
