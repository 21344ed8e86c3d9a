/**
 * Why the document view cannot answer just now:
 * `unreachable` no connection, `deadline` no answer in time, `partial` an answer that is not whole, `missing-index` the alias
 * points nowhere, `missing-snapshot` a snapshot has ended, `refused` Elasticsearch turned the question away (overload, rights).
 */
export type UnavailableReason =
  | 'unreachable'
  | 'deadline'
  | 'partial'
  | 'missing-index'
  | 'missing-snapshot'
  | 'refused'

/** The document view cannot answer just now. Carries no part of the question: questions hold what users typed. */
export class ReplicaUnavailable extends Error {
  readonly reason: UnavailableReason

  constructor(reason: UnavailableReason, detail: string) {
    super(`the document view is unavailable (${reason}): ${detail}`)
    this.name = 'ReplicaUnavailable'
    this.reason = reason
  }
}

/**
 * What it means that Elasticsearch turned a question away, with which status and for which kind of error; the reason it gives
 * would repeat the question. One that it does not understand is a bug.
 */
export function judgeRefusal(status: number, type: string): Error {
  const said = `${status} ${type}`
  return status === 400 && type !== 'index_closed_exception'
    ? new Error(`Elasticsearch does not understand the question: ${said}`)
    : new ReplicaUnavailable('refused', said)
}
