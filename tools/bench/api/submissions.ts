import { busyTimes } from '../../demo/calendar.ts'
import { entityId, seededRandom } from '../../demo/random.ts'
import { renderReports } from '../reports.ts'

/** A record of the submissions topic. */
export type SubmissionRecord = { readonly key: string; readonly value: string }

export type Submissions = {
  /** Everything that there is when measuring begins, in the order of created time. To be walked once. */
  past(): Generator<SubmissionRecord>
  /** One more submission of the large team, newer than all before. */
  next(): SubmissionRecord
}

export const largeTeam = 'team_large'
export const largeTeamSubmissions = 220_000
const otherTeams = 400
const submissionsOfEach = 300
export const allSubmissions = largeTeamSubmissions + otherTeams * submissionsOfEach

export const windowDays = 300
/** Some moment: created times decide nothing but the order. */
export const newestMs = Date.UTC(2026, 0, 1)
const seed = 'bench'
const distinctReports = 64
/** Of so many in a row, the first few share their millisecond. */
const tieEvery = 50
const tied = 5
const followMs = 1_000

/** The submissions of one large team and of many small ones. The same at every call, byte for byte. */
export function createSubmissions(): Submissions {
  const random = seededRandom(seed)
  const reports = renderReports(seed, distinctReports, newestMs)
  const timeOf = busyTimes(newestMs, windowDays)
  let serialNumber = 0

  const record = (teamId: string, createdMs: number): SubmissionRecord => {
    const id = entityId(random, createdMs)
    serialNumber += 1
    const submittedAt = new Date(createdMs).toISOString()
    const submission = { ...random.pick(reports), id, serialNumber, submittedAt, updatedAt: submittedAt }
    return { key: `${teamId}/${id}`, value: JSON.stringify({ revision: 1, submission }) }
  }

  function* past(): Generator<SubmissionRecord> {
    let others = 0
    for (let index = 0; index < allSubmissions; index++) {
      const isTied = index % tieEvery < tied
      const place = isTied ? index - (index % tieEvery) : index + random.float()
      const ofLarge = (count: number): number => Math.floor((count * largeTeamSubmissions) / allSubmissions)
      const isLarge = ofLarge(index + 1) > ofLarge(index)
      const teamId = isLarge ? largeTeam : `team_${others++ % otherTeams}`
      yield record(teamId, timeOf(place / allSubmissions))
    }
  }

  let followed = 0
  return { past, next: () => record(largeTeam, newestMs + ++followed * followMs) }
}
