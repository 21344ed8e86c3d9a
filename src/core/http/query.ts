/** Parses the query of a request. Koa's `ctx.query` takes quadratic time: a client could occupy the process for a second with 16 KiB of parameters. */
export const queryOf = ({ querystring }: { readonly querystring: string }): URLSearchParams =>
  new URLSearchParams(`?${querystring}`)

/** The value of a query parameter; undefined if it is missing or sent several times. */
export function parameterOf(ctx: { readonly querystring: string }, name: string): string | undefined {
  const [value, ...others] = queryOf(ctx).getAll(name)
  return others.length === 0 ? value : undefined
}
