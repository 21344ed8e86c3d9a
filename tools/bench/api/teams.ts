import { busyTimes } from '../../demo/calendar.ts'
import { seededRandom } from '../../demo/random.ts'
import { newestMs, type SubmissionRecord, submissionMaker, windowDays } from '../submissions.ts'

/** One large team, and many small ones of the same size. */
export type TeamSizes = { readonly largeTeam: number; readonly otherTeams: number; readonly ofEach: number }

export const largeTeam = 'team_large'
/** One of the others. */
export const smallTeam = 'team_0'
/** Of so many in a row, the first few share their millisecond. */
const tieEvery = 50
const tied = 5
const seed = 'api'

export const totalOf = ({ largeTeam, otherTeams, ofEach }: TeamSizes): number => largeTeam + otherTeams * ofEach

/** All submissions in the order of created time, the teams mixed. The same at every call. */
export function* submissionsOf(sizes: TeamSizes): Generator<SubmissionRecord> {
  const random = seededRandom(seed)
  const make = submissionMaker(seed)
  const timeOf = busyTimes(newestMs, windowDays)
  const total = totalOf(sizes)
  const ofLarge = (count: number): number => Math.floor((count * sizes.largeTeam) / total)
  let others = 0
  for (let index = 0; index < total; index++) {
    const isTied = index % tieEvery < tied
    const place = isTied ? index - (index % tieEvery) : index + random.float()
    const isLarge = ofLarge(index + 1) > ofLarge(index)
    const teamId = isLarge ? largeTeam : `team_${others++ % sizes.otherTeams}`
    yield make(teamId, timeOf(place / total))
  }
}
