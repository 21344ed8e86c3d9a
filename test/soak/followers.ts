import { isDeepStrictEqual } from 'node:util'
import { waitUntil } from '../../tools/engines/waiting.ts'
import { follow, type TeamFollower, truthFor } from '../model/follower.ts'
import type { Pipeline } from '../support/pipeline.ts'
import type { Program } from '../support/programs.ts'
import type { Judged } from './finalCheck.ts'

const pollMs = 1_000
const patienceMs = 60_000

/** Clients that follow every list of every team by its change feed, and never have to start anew. */
export class Followers {
  readonly #followers: readonly TeamFollower[]

  constructor(
    pipeline: Pick<Pipeline, 'keyOf'>,
    apis: readonly Program[],
    teams: readonly string[],
    signal: AbortSignal,
  ) {
    const follows = teams.flatMap((team) => (['forms', 'records'] as const).map((list) => ({ team, list })))
    this.#followers = follows.map(({ team, list }, at) => {
      const api = apis[at % apis.length]
      if (api === undefined) throw new Error('no API runs')
      return follow(pipeline, { url: api.url, team, list, pollMs, signal })
    })
  }

  /** Judges what each one holds once it has been told of everything appended so far. Nothing is written meanwhile. */
  async judge({ journal, problems, signal }: Pick<Judged, 'journal' | 'problems' | 'signal'>): Promise<void> {
    const lastMs = journal.lastAppendMs()
    for (const follower of this.#followers) {
      const { team, list, items } = follower
      const isTold = (): Promise<boolean> => Promise.resolve(follower.watermarkMs > lastMs)
      if (!(await waitUntil(isTold, { deadlineMs: patienceMs, signal }))) {
        const toldMs = follower.watermarkMs
        await problems.add('follower', `${team} ${list} is told of everything before ${toldMs} only, not ${lastMs}`)
        continue
      }
      const truth = truthFor(follower, journal.newest())
      const wrong = [...new Set([...truth.keys(), ...items.keys()])].filter(
        (id) => !isDeepStrictEqual(items.get(id), truth.get(id)),
      )
      if (wrong.length === 0 && follower.problems.length === 0 && follower.expired === 0) continue
      const topic = list === 'forms' ? 'forms' : 'submissions'
      await problems.add(
        'follower',
        `${team} ${list} holds ${wrong.length} items wrongly, ${JSON.stringify(wrong.slice(0, 5))}, and started anew ${follower.expired} times; ${follower.problems.join(', ')}`,
        wrong.map((id) => ({ topic, key: `${team}/${id}` })),
      )
    }
  }
}
