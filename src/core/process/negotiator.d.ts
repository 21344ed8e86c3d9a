/** What we use of `negotiator`, whose published types lack `preferred`. */
declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { readonly headers: Readonly<Record<string, string>> })
    /** The encoding that the client prefers; among equals, the first one in `preferred`. Undefined if none is accepted. */
    encoding<Name extends string>(names: readonly Name[], options: { preferred: readonly Name[] }): Name | undefined
  }
}
