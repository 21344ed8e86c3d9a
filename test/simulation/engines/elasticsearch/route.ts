import { notSimulated } from './refusal.ts'
import type { SimulatedElasticsearch } from './simulatedElasticsearch.ts'

export type Json = Readonly<Record<string, unknown>>
export type Query = Readonly<Partial<Record<string, string>>>

/** A request to a route: names in its path, the name or id after `_source`, `_alias` and the like, query parameters, body. */
export type Call = {
  readonly names: readonly string[]
  readonly last: string
  readonly query: Query
  readonly body: string
}

/** An answer with a status. */
export class Reply {
  readonly status: number
  readonly body: object

  constructor(status: number, body: object) {
    this.status = status
    this.body = body
  }
}

/** The answer of a route: JSON text, a value to render as JSON, or either with a status. */
type Result = string | object | Reply
export type Route = {
  readonly options: readonly string[]
  run(cluster: SimulatedElasticsearch, call: Call): Result | Promise<Result>
}

/** Parses a body; an empty one is an empty object. */
export const json = (body: string): Json => (body === '' ? {} : (JSON.parse(body) as Json))

/** The only name; throws if there are several. */
export function only([name, ...others]: readonly string[]): string {
  if (name === undefined || others.length > 0) throw notSimulated('several names here')
  return name
}
