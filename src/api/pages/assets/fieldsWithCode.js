/** The fields of a form by their codes: in their order, each code once, also within other fields. Answers are stored under these codes. */
export function fieldsWithCode(fields, found = new Map()) {
  if (!Array.isArray(fields)) return found
  for (const field of fields) {
    if (typeof field !== 'object' || field === null) continue
    if (typeof field.code === 'string' && !found.has(field.code)) found.set(field.code, field)
    fieldsWithCode(field.fields, found)
  }
  return found
}
