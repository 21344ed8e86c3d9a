/**
 * The query parameters of a request. Koa's `ctx.query` looks at all of them again for each one: 16 KiB of them, which need no key, would
 * take a second.
 */
export const queryOf = ({ querystring }: { readonly querystring: string }): URLSearchParams =>
  new URLSearchParams(`?${querystring}`)

/** The value of a parameter that is sent once; undefined for one that is missing, or sent several times. */
export function parameterOf(ctx: { readonly querystring: string }, name: string): string | undefined {
  const [value, ...others] = queryOf(ctx).getAll(name)
  return others.length === 0 ? value : undefined
}
