import { isDeepStrictEqual } from 'node:util'
import { Follower, type List, truthFor } from '../model/follower.ts'
import { eventually } from './eventually.ts'
import type { Pipeline } from './pipeline.ts'
import type { HistoryRecord, Json } from './randomHistory.ts'

/** Followers of both lists of each team: some read whole pages, some three rows a page. */
export function followAll(pipeline: Pick<Pipeline, 'keyOf'>, url: string, teams: readonly string[]) {
  const stop = new AbortController()
  const followers = teams.flatMap((team) =>
    (['forms', 'records'] as const).flatMap((list: List) =>
      [3, 1_000].map((limit) => {
        const source = { baseUrl: `${url}/api/v1`, accountKey: pipeline.keyOf(team), list, limit }
        return Object.assign(new Follower(source, { pollMs: 100, signal: stop.signal }), { team, list, limit })
      }),
    ),
  )
  const differences = (records: readonly HistoryRecord[]): string[] =>
    followers.flatMap((follower) => {
      const truth = truthFor(follower, records)
      const name = `${follower.team} ${follower.list} ${follower.limit}`
      const wrong = [...new Set([...truth.keys(), ...follower.items.keys()])].filter(
        (id) => !isDeepStrictEqual(truth.get(id), follower.items.get(id)),
      )
      return wrong.map((id) => `${name}: ${id} is ${shown(follower.items.get(id))}, truth ${shown(truth.get(id))}`)
    })
  return {
    followers,
    differences,
    problems: (): string[] => followers.flatMap(({ problems }) => problems),
    expired: (): number => followers.reduce((sum, { expired }) => sum + expired, 0),
    answers: (): number => followers.reduce((sum, { answers }) => sum + answers, 0),
    /** Waits until each follower holds exactly the truth. */
    untilTrue: (records: readonly HistoryRecord[]): Promise<void> =>
      eventually(() => differences(records).length === 0).catch(() => {
        throw new Error(`followers differ: ${differences(records).slice(0, 20).join('\n')}`)
      }),
    stop: async (): Promise<void> => {
      stop.abort()
      await Promise.all(followers.map(({ ended }) => ended))
    },
  }
}

const shown = (item: Json): string => (item === undefined ? 'absent' : JSON.stringify(item).slice(0, 80))
