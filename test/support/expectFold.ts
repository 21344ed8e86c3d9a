import { type Ask, compareDetails, compareLists, foldedOf } from '../model/fold.ts'
import type { Pipeline } from './pipeline.ts'
import type { Program } from './programs.ts'
import type { History } from './randomHistory.ts'

const pageSize = 17

const askOf =
  (pipeline: Pipeline, api: Program): Ask =>
  (team, target) =>
    pipeline.get(api, team, target)

/**
 * Expects every list page of every team, and the detail of every entity ever written, to equal the fold of the history's
 * records: nothing else is listed, and deleted entities are 404.
 */
export async function expectFold(pipeline: Pipeline, api: Program, { teams, records }: History): Promise<void> {
  const ask = askOf(pipeline, api)
  for (const folded of foldedOf(records)) {
    const keys = records.filter(({ topic }) => topic === folded.topic).map(({ key }) => key.toString())
    for (const team of teams) {
      expect(await compareLists(ask, folded, team, pageSize)).toEqual([])
      const own = keys.filter((key) => key.startsWith(`${team}/`) && key !== `${team}/`)
      expect(await compareDetails(ask, folded, own)).toEqual([])
    }
  }
}

/** Expects 404 for every id of other teams. */
export async function expectNothingOfOthers(pipeline: Pipeline, api: Program, history: History): Promise<void> {
  const ids = history.records.map(({ key }) => key.toString()).map((key) => key.slice(key.indexOf('/') + 1))
  for (const folded of foldedOf(history.records))
    for (const team of history.teams) {
      const foreign = ids.filter((id) => id !== '').map((id) => `${team}/${id}`)
      const unknown = foreign.filter((key) => !folded.entities.has(key))
      expect(await compareDetails(askOf(pipeline, api), folded, unknown)).toEqual([])
    }
}
