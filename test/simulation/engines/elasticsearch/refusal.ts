/** The `error` of an Elasticsearch response. */
export type Cause = { readonly type: string; readonly reason: string | null; readonly [more: string]: unknown }

/** An error response of Elasticsearch. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: number
  readonly error: Cause

  constructor(status: number, error: Cause, rootCauses: readonly Cause[] = [error]) {
    super(`${status} ${error.type}: ${error.reason}`)
    this.status = status
    this.error = { root_cause: rootCauses, ...error }
  }

  get body(): object {
    return { error: this.error, status: this.status }
  }
}

/** The answer of an engine that a history makes refuse. */
export const refused = (status: number, type: string): Refusal =>
  new Refusal(status, { type, reason: 'as the simulation says' })

/** The result of `find`, or the refusal that it throws. */
export function attempt<T>(find: () => T): T | Refusal {
  try {
    return find()
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

export const indexNotFound = (name: string): Refusal =>
  new Refusal(404, {
    type: 'index_not_found_exception',
    reason: `no such index [${name}]`,
    'resource.type': 'index_or_alias',
    'resource.id': name,
    index_uuid: '_na_',
    index: name,
  })

export const aliasesNotFound = (alias: string): Refusal =>
  new Refusal(404, {
    type: 'aliases_not_found_exception',
    reason: `aliases [${alias}] missing`,
    'resource.type': 'aliases',
    'resource.id': alias,
  })

export const noShardAvailable: Cause = { type: 'no_shard_available_action_exception', reason: null }

/** For requests that the product does not send today: an answer would be a guess. */
export const notSimulated = (what: string): Refusal =>
  new Refusal(400, { type: 'not_simulated_exception', reason: `the simulated Elasticsearch does not know ${what}` })

/** Throws for a member of a request that is not simulated. */
export function expectOnly(known: readonly string[], members: object, where: string): void {
  const unknown = Object.keys(members).find((name) => !known.includes(name))
  if (unknown !== undefined) throw notSimulated(`${unknown} in ${where}`)
}
