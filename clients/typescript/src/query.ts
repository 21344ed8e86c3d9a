/** The parameters as the API reads them: names of `fields` with commas between, `answers` as JSON; what is undefined is left out. */
export const queryOf = (parameters: object): Record<string, string> =>
  Object.fromEntries(
    Object.entries<unknown>({ ...parameters })
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, asText(value)]),
  )

function asText(value: unknown): string {
  if (Array.isArray(value)) return value.join(',')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
