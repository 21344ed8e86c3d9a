/** The fields of a form by their codes, in the form's order, nested fields included. Empty unless `fields` is an array. */
export function fieldsWithCode(fields: unknown): Map<string, object>
