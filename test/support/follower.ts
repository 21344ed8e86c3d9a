import { followChanges } from '../../docs/client/followChanges.ts'
import type { Pipeline } from './pipeline.ts'
import { fold, type History, type HistoryRecord, type Json } from './randomHistory.ts'
import { servedFormSummary, servedSubmissionSummary } from './served.ts'

const lists = { forms: servedFormSummary, records: servedSubmissionSummary } as const
type List = keyof typeof lists

const oftenMs = 100

/** A client that follows one list by watermark, and knows nothing of the history but what it is told. */
export type Follower = {
  readonly team: string
  readonly list: List
  readonly items: ReadonlyMap<string, Json>
  watermarkMs(): number
  /** Whether a watermark was lower than one before it. */
  wentBack(): boolean
  /** Whether an item came after it had been deleted. */
  sawRevival(): boolean
  stop(): Promise<void>
}

/** Follows a list of a team until it is stopped or `signal` aborts. */
export function follow(
  pipeline: Pick<Pipeline, 'keyOf'>,
  {
    url,
    team,
    list,
    pollMs = oftenMs,
    signal,
  }: { url: string; team: string; list: List; pollMs?: number; signal: AbortSignal },
): Follower {
  const source = { baseUrl: `${url}/api/v1`, accountKey: pipeline.keyOf(team), list }
  const items = new Map<string, Json>()
  const deleted = new Set<string>()
  const stop = new AbortController()
  let [watermarkMs, isBack, isRevived] = [0, false, false]
  const following = followChanges(source, undefined, {
    onItem: (item) => {
      isRevived ||= deleted.has(item.id)
      items.set(item.id, item)
    },
    onDeleted: (id) => {
      deleted.add(id)
      items.delete(id)
    },
    keep: (watermark) => {
      isBack ||= Date.parse(watermark) < watermarkMs
      watermarkMs = Date.parse(watermark)
    },
    pollMs,
    signal: AbortSignal.any([stop.signal, signal]),
  })
  return {
    team,
    list,
    items,
    watermarkMs: () => watermarkMs,
    wentBack: () => isBack,
    sawRevival: () => isRevived,
    stop: async () => {
      stop.abort()
      await following
    },
  }
}

/** What a client must hold: everything that is there, as it is, and nothing else. */
export function expectTruth(follower: Follower, history: History): void {
  expect(new Map(follower.items)).toEqual(truthFor(follower, history.records))
  expect(follower.sawRevival()).toBe(false)
}

/** What a client must hold of a history, by id. */
export function truthFor({ team, list }: Follower, records: readonly HistoryRecord[]): Map<string, Json> {
  const topic = list === 'forms' ? 'forms' : 'submissions'
  const truth = [...fold(records, topic)].filter(([key]) => key.startsWith(`${team}/`))
  return new Map(truth.map(([, entity]) => [entity.id, lists[list](entity)]))
}
