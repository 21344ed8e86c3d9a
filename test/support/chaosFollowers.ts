import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { Follower, type List, truthFor } from '../model/follower.ts'
import { eventually } from './eventually.ts'
import type { Pipeline } from './pipeline.ts'
import type { HistoryRecord, Json } from './randomHistory.ts'

type Page = { readonly items: readonly Json[]; readonly cursor: string; readonly hasMore: boolean }

const longestAnswerMs = 40_000
const restMs = 200

/** A client that waits for changes with `Prefer: wait`. */
class Waiter {
  readonly items = new Map<string, Json>()
  readonly problems: string[] = []
  readonly limit = 'waits' as const
  answers = 0
  expired = 0
  readonly ended: Promise<void>
  #cursor: string | undefined
  /** What a walk that was begun anew has not named yet. */
  #unnamed = new Set<string>()

  constructor(url: string, key: string, signal: AbortSignal) {
    this.ended = this.#run(url, key, signal)
  }

  async #run(url: string, key: string, signal: AbortSignal): Promise<void> {
    const headers = { authorization: `Bearer ${key}`, prefer: 'wait=20' }
    while (!signal.aborted) {
      const beganMs = Date.now()
      const query = this.#cursor === undefined ? '' : `?cursor=${this.#cursor}`
      const isDone = await fetch(`${url}/record-changes${query}`, { headers, signal })
        .then(async (answer) => this.#take(answer.status, await answer.text()))
        .catch(() => false)
      const tookMs = Date.now() - beganMs
      if (tookMs > longestAnswerMs) this.problems.push(`an answer took ${tookMs} ms`)
      if (!isDone) await sleep(restMs)
    }
  }

  /** Returns whether the answer says something. */
  #take(status: number, text: string): boolean {
    if (status === 410) {
      this.expired++
      this.#cursor = undefined
      this.#unnamed = new Set(this.items.keys())
    } else if (status === 200) this.#apply(JSON.parse(text) as Page)
    else if (status !== 503) this.problems.push(`${status} ${text}`)
    return status === 410 || status === 200
  }

  #apply({ items, cursor, hasMore }: Page): void {
    for (const { changedAt: _at, deleted, ...item } of items) {
      this.#unnamed.delete(item.id)
      if (deleted) this.items.delete(item.id)
      else this.items.set(item.id, item)
    }
    this.#cursor = cursor
    if (hasMore) return
    for (const id of this.#unnamed) this.items.delete(id)
    this.#unnamed.clear()
    this.answers++
  }
}

/** Followers of both lists of each team: some read whole pages, some three rows a page. */
export function followAll(pipeline: Pick<Pipeline, 'keyOf'>, url: string, teams: readonly string[]) {
  const stop = new AbortController()
  const waiters = teams.map((team) =>
    Object.assign(new Waiter(`${url}/api/v1`, pipeline.keyOf(team), stop.signal), { team, list: 'records' as const }),
  )
  const polling = teams.flatMap((team) =>
    (['forms', 'records'] as const).flatMap((list: List) =>
      [3, 1_000].map((limit) => {
        const source = { baseUrl: `${url}/api/v1`, accountKey: pipeline.keyOf(team), list, limit }
        return Object.assign(new Follower(source, { pollMs: 100, signal: stop.signal }), { team, list, limit })
      }),
    ),
  )
  const followers = [...polling, ...waiters]
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
