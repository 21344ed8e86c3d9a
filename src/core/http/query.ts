/** Koa's `ctx.query` takes quadratic time: 16 KiB of parameters could occupy the process for a second. */
export const queryOf = ({ querystring }: { readonly querystring: string }): URLSearchParams =>
  new URLSearchParams(`?${querystring}`)

/** Undefined if it is missing or sent several times. */
export function parameterOf(ctx: { readonly querystring: string }, name: string): string | undefined {
  const [value, ...others] = queryOf(ctx).getAll(name)
  return others.length === 0 ? value : undefined
}
