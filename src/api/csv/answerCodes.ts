import { rawMembers } from '../../core/json/rawJson.ts'

/** The column of the answers that have no column of their own, and so no code of a column. */
export const otherAnswers = 'other'

/** The most answer codes that get a column: it bounds what a row costs, however many fields a form has. */
const maxCodes = 1_000

/**
 * The codes of a form's fields in their order, each once, as far as they become columns; also those of fields within fields. Text that is
 * no Unicode, such as a lone surrogate, becomes none.
 */
export function answerCodes(form: Buffer): string[] {
  const codes = new Set<string>()
  collect(JSON.parse(rawMembers(form.toString()).get('fields') ?? 'null'), codes)
  codes.delete(otherAnswers)
  return [...codes].slice(0, maxCodes)
}

function collect(fields: unknown, codes: Set<string>): void {
  if (!Array.isArray(fields)) return
  for (const field of fields as unknown[]) {
    if (typeof field !== 'object' || field === null) continue
    // Half a character is no name: in UTF-8, all halves are the same.
    if ('code' in field && typeof field.code === 'string' && field.code.isWellFormed()) codes.add(field.code)
    if ('fields' in field) collect(field.fields, codes)
  }
}
