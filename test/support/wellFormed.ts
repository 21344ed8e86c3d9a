/** The same JSON value with U+FFFD for each half of a surrogate pair, in names, too. */
export function wellFormed<Value>(value: Value): Value {
  return inside(value) as Value
}

function inside(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(inside)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name.toWellFormed(), inside(member)]))
}
