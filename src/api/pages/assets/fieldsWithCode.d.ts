/** The fields of a form by their codes: in their order, each code once, also within other fields. Answers are stored under these codes. */
export function fieldsWithCode(fields: unknown): Map<string, object>
