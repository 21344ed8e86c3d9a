export function fieldsWithCode(fields: unknown): Map<string, object>
