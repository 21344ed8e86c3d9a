/** The part of `negotiator` that we use; its published types lack `preferred`. */
declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { readonly headers: Readonly<Record<string, string>> })
    /** The encoding with the highest `q` in `Accept-Encoding`, ties by the order of `preferred`. Undefined if none of `names` is accepted. */
    encoding<Name extends string>(names: readonly Name[], options: { preferred: readonly Name[] }): Name | undefined
  }
}
