import { type Batch, type ChangeRow, Tidemark } from '../../clients/typescript/src/index.ts'
import { sleep } from '../../clients/typescript/src/retries.ts'
import type { Pipeline } from '../support/pipeline.ts'
import { fold, type History, type HistoryRecord, type Json } from '../support/randomHistory.ts'
import { servedFormSummary, servedSubmissionSummary } from '../support/served.ts'

const lists = { forms: servedFormSummary, records: servedSubmissionSummary } as const
export type List = keyof typeof lists

const oftenMs = 100

type Options = {
  readonly pollMs?: number
  readonly signal?: AbortSignal
  /** Called at once with anything that no client may see. */
  onProblem?(problem: string, what: string): void
  /** Called when the copy has every change up to the cursor. */
  onWhole?(cursor: string, items: ReadonlyMap<string, Json>): void
}

/** Which list of a team is followed. */
export type Source = {
  readonly baseUrl: string
  readonly accountKey: string
  readonly list: List
  /** Rows of a page, at most. */
  readonly limit?: number
}

/** The faults of tests are shorter than those that the client is made for. */
const longestPauseMs = 5_000

/** A client that follows one list by the change feed, as documented, and sees only the API's answers. */
export class Follower {
  readonly items = new Map<string, Json>()
  /** Everything that changed before this time is in `items`. */
  watermarkMs = 0
  /** How often `items` was whole. */
  answers = 0
  /** How often the cursor was too old. */
  expired = 0
  /** Everything seen that no client may see. */
  readonly problems: string[] = []
  readonly ended: Promise<void>
  readonly #stop = new AbortController()
  readonly #options: Options
  /** By id, the walk that has named the item. */
  readonly #walks = new Map<string, string>()
  readonly #deleted = new Set<string>()
  /** The first batch of the walk that is read: it was asked for when all that the walk names was visible. */
  #first: Pick<Batch<Json>, 'watermark'> | undefined

  constructor(source: Source, options: Options = {}) {
    this.#options = options
    this.ended = this.#follow(source)
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.ended
  }

  async #follow({ list, limit, ...access }: Source): Promise<void> {
    const { pollMs = oftenMs, signal: given } = this.#options
    const signal = AbortSignal.any([this.#stop.signal, ...(given === undefined ? [] : [given])])
    const client = new Tidemark({ ...access, sleep: (ms, end) => sleep(Math.min(ms, longestPauseMs), end) })
    try {
      const options = { limit, waitSeconds: 0, pollSeconds: pollMs / 1_000, signal }
      for await (const batch of client.follow(list, options)) this.#apply(batch)
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  #apply(batch: Batch<Json>): void {
    if (batch.startsOver) {
      if (this.answers > 0 || this.#first !== undefined) this.expired++
      this.#first = undefined
    }
    this.#first ??= batch
    for (const row of batch.rows) this.#applyRow(row, batch.walk)
    if (batch.sweep) {
      for (const [id, walk] of this.#walks) if (walk !== batch.walk) this.#remove(id)
    }
    if (batch.complete) this.#noteWhole(batch.cursor)
  }

  #applyRow({ changedAt, deleted, ...item }: ChangeRow<Json>, walk: string): void {
    const { id } = item
    if (deleted) {
      this.#deleted.add(id)
      this.#remove(id)
      return
    }
    if (this.#deleted.has(id)) this.#report('a follower sees no item after its deletion', id)
    this.items.set(id, item)
    this.#walks.set(id, walk)
  }

  #remove(id: string): void {
    this.items.delete(id)
    this.#walks.delete(id)
  }

  #noteWhole(cursor: string): void {
    const knownMs = Date.parse(this.#first?.watermark ?? '')
    this.#first = undefined
    // It goes back where Redis lost what was published.
    if (knownMs > this.watermarkMs) this.watermarkMs = knownMs
    this.answers++
    this.#options.onWhole?.(cursor, this.items)
  }

  #report(kind: string, what: string): void {
    this.problems.push(`${kind}: ${what}`)
    this.#options.onProblem?.(kind, what)
  }
}

export type TeamFollower = Follower & { readonly team: string; readonly list: List }

/** Follows a list of a team until it is stopped or `signal` aborts. */
export function follow(
  pipeline: Pick<Pipeline, 'keyOf'>,
  { url, team, list, ...options }: { url: string; team: string; list: List; pollMs?: number; signal: AbortSignal },
): TeamFollower {
  const source = { baseUrl: `${url}/api/v1`, accountKey: pipeline.keyOf(team), list }
  return Object.assign(new Follower(source, options), { team, list })
}

/** Expects the client to hold exactly the fold of the history. */
export function expectTruth(follower: TeamFollower, history: History): void {
  expect(follower.items).toEqual(truthFor(follower, history.records))
  expect(follower.problems).toEqual([])
}

/** What a client must hold after a history: id → item. */
export function truthFor(
  { team, list }: Pick<TeamFollower, 'team' | 'list'>,
  records: readonly HistoryRecord[],
): Map<string, Json> {
  const topic = list === 'forms' ? 'forms' : 'submissions'
  const truth = [...fold(records, topic)].filter(([key]) => key.startsWith(`${team}/`))
  return new Map(truth.map(([, entity]) => [entity.id, lists[list](entity)]))
}
