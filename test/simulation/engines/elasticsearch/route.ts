import { notSimulated } from './refusal.ts'
import type { SimulatedElasticsearch } from './simulatedElasticsearch.ts'

export type Json = Readonly<Record<string, unknown>>
export type Query = Readonly<Partial<Record<string, string>>>

/** A request to a route: the names in its path, the name or id behind `_source`, `_alias` and the like, its options and its body. */
export type Call = {
  readonly names: readonly string[]
  readonly last: string
  readonly query: Query
  readonly body: string
}

/** An answer with a status of its own. */
export class Reply {
  readonly status: number
  readonly body: object

  constructor(status: number, body: object) {
    this.status = status
    this.body = body
  }
}

/** What a route answers: JSON text, a value to be rendered, or one with a status. */
type Result = string | object | Reply
export type Route = {
  readonly options: readonly string[]
  run(cluster: SimulatedElasticsearch, call: Call): Result | Promise<Result>
}

/** A body as it was sent; without any, no members. */
export const json = (body: string): Json => (body === '' ? {} : (JSON.parse(body) as Json))

/** The only one of several names. */
export function only([name, ...others]: readonly string[]): string {
  if (name === undefined || others.length > 0) throw notSimulated('several names here')
  return name
}
