/** The paths of all members of a JSON object, at any depth. */
export const pathsIn = (value: unknown): string[][] =>
  isObject(value)
    ? Object.entries(value).flatMap(([name, inner]) => [[name], ...pathsIn(inner).map((path) => [name, ...path])])
    : []

/** A copy of a JSON value with another value at a path. */
export function changedAt(value: unknown, [name = '', ...rest]: readonly string[], other: unknown): unknown {
  const object = Object(value) as Readonly<Record<string, unknown>>
  return { ...object, [name]: rest.length === 0 ? other : changedAt(object[name], rest, other) }
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
