import { followChanges } from '../../docs/client/followChanges.ts'
import type { Pipeline } from './pipeline.ts'
import { fold, type History, type Json } from './randomHistory.ts'
import { servedFormSummary, servedSubmissionSummary } from './served.ts'

const lists = { forms: servedFormSummary, records: servedSubmissionSummary } as const
type List = keyof typeof lists

const pollMs = 100

/** A client that follows one list by watermark, and knows nothing of the history but what it is told. */
export type Follower = {
  readonly team: string
  readonly list: List
  readonly items: ReadonlyMap<string, Json>
  watermarkMs(): number
  /** Whether a watermark was lower than one before it. */
  wentBack(): boolean
  stop(): Promise<void>
}

/** Follows a list of a team until it is stopped or `signal` aborts. */
export function follow(
  pipeline: Pick<Pipeline, 'keyOf'>,
  { url, team, list, signal }: { url: string; team: string; list: List; signal: AbortSignal },
): Follower {
  const source = { baseUrl: `${url}/api/v1`, accountKey: pipeline.keyOf(team), list }
  const items = new Map<string, Json>()
  const stop = new AbortController()
  let [watermarkMs, isBack] = [0, false]
  const following = followChanges(source, undefined, {
    onItem: (item) => items.set(item.id, item),
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
    stop: async () => {
      stop.abort()
      await following
    },
  }
}

/** What a client must hold: everything that is there, as it is. Of what was deleted nobody tells it. */
export function expectTruth({ team, list, items }: Follower, history: History): void {
  const topic = list === 'forms' ? 'forms' : 'submissions'
  const truth = [...fold(history.records, topic)].filter(([key]) => key.startsWith(`${team}/`))
  const deleted = new Set(
    history.records
      .filter((record) => record.topic === topic && record.value === null)
      .map(({ key }) => key.toString()),
  )
  const held = [...items].filter(([id]) => !deleted.has(`${team}/${id}`))
  expect(new Map(held)).toEqual(new Map(truth.map(([, entity]) => [entity.id, lists[list](entity)])))
}
