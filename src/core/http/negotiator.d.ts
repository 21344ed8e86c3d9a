/** The part that we use; the published types lack `preferred`. */
declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { readonly headers: Readonly<Record<string, string>> })
    /** Undefined if none of `names` is accepted; `preferred` breaks ties. */
    encoding<Name extends string>(names: readonly Name[], options: { preferred: readonly Name[] }): Name | undefined
  }
}
