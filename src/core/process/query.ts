/**
 * The query parameters of a request. Koa's `ctx.query` looks at all of them again for each one: 16 KiB of them, which need no key, would
 * take a second.
 */
export const queryOf = ({ querystring }: { readonly querystring: string }): URLSearchParams =>
  new URLSearchParams(`?${querystring}`)
