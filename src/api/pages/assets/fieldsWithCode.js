/** The fields of a form by their codes, in the form's order, nested fields included. Of two fields with the same code, the first. `found`: for recursion. */
export function fieldsWithCode(fields, found = new Map()) {
  if (!Array.isArray(fields)) return found
  for (const field of fields) {
    if (typeof field !== 'object' || field === null) continue
    if (typeof field.code === 'string' && !found.has(field.code)) found.set(field.code, field)
    fieldsWithCode(field.fields, found)
  }
  return found
}
