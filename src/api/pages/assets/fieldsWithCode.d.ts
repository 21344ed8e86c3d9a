/** The fields of a form by their codes, nested fields included, in their order. Of two fields with the same code, the first. */
export function fieldsWithCode(fields: unknown): Map<string, object>
