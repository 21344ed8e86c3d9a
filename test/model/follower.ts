import { followChanges, type Source } from '../../docs/client/followChanges.ts'
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

  constructor(source: Source, { pollMs = oftenMs, signal, onProblem, onWhole }: Options = {}) {
    const deleted = new Set<string>()
    /** What the walk that was begun anew has not named yet. */
    let unnamed = new Set<string>()
    let walkWatermark: string | null | undefined
    const problem = (kind: string, what: string): void => {
      this.problems.push(`${kind}: ${what}`)
      onProblem?.(kind, what)
    }
    this.ended = followChanges(source, undefined, {
      onItem: ({ changedAt, deleted: _isNot, ...item }: Json) => {
        if (deleted.has(item.id)) problem('a follower sees no item after its deletion', item.id)
        unnamed.delete(item.id)
        this.items.set(item.id, item)
      },
      onDeleted: (id) => {
        deleted.add(id)
        this.items.delete(id)
      },
      onExpired: () => {
        this.expired++
        unnamed = new Set(this.items.keys())
        walkWatermark = undefined
      },
      keep: ({ cursor, isWhole, watermark }) => {
        // The first answer of a walk was asked for when what it reads was visible.
        if (walkWatermark === undefined) walkWatermark = watermark
        if (!isWhole) return
        for (const id of unnamed) this.items.delete(id)
        unnamed.clear()
        const knownMs = Date.parse(walkWatermark ?? '')
        walkWatermark = undefined
        // It goes back where Redis lost what was published.
        if (knownMs > this.watermarkMs) this.watermarkMs = knownMs
        this.answers++
        onWhole?.(cursor, this.items)
      },
      pollMs,
      signal: AbortSignal.any([this.#stop.signal, ...(signal === undefined ? [] : [signal])]),
    })
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.ended
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
