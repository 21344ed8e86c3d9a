/** The parts of a value that any path of `filter_path` leads to; `*` stands for any one name. Undefined if there are none. */
export function filterPath(value: unknown, paths: readonly (readonly string[])[]): unknown {
  if (paths.some((path) => path.length === 0)) return value
  if (Array.isArray(value)) {
    const kept = value.map((each) => filterPath(each, paths)).filter((each) => each !== undefined)
    return kept.length === 0 ? undefined : kept
  }
  if (typeof value !== 'object' || value === null) return undefined
  const members = Object.entries(value).flatMap(([name, member]) => {
    const deeper = paths.filter(([first]) => first === '*' || first === name).map((path) => path.slice(1))
    const kept = deeper.length === 0 ? undefined : filterPath(member, deeper)
    return kept === undefined ? [] : [[name, kept] as const]
  })
  return members.length === 0 ? undefined : Object.fromEntries(members)
}
