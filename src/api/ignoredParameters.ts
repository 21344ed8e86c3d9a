const maxNames = 10
const maxBytes = 256

/** The value of `Ignored-Parameters`: percent-encoded names, as many as fit. At least one, cut when it alone is too long. */
export function renderIgnored(names: readonly string[]): string {
  const [first = '', ...rest] = names.slice(0, maxNames)
  let value = cut(first)
  for (const name of rest) {
    const longer = `${value}, ${encodeURIComponent(name)}`
    if (longer.length > maxBytes) break
    value = longer
  }
  return value
}

function cut(name: string): string {
  const characters = [...name].slice(0, maxBytes)
  while (encodeURIComponent(characters.join('')).length > maxBytes) characters.pop()
  return encodeURIComponent(characters.join(''))
}
