import { readSubmissionRecord } from '../../../src/core/model/record.ts'
import { type DocumentWrite, submissionWrites } from '../../../src/core/stores/documents.ts'
import { busyTimes } from '../../demo/calendar.ts'
import { seededRandom } from '../../demo/random.ts'
import { newestMs, type SubmissionRecord, submissionMaker, windowDays } from '../submissions.ts'

/** What indices of their own hold: a team that is the same size everywhere, a largest team, and others that share the rest evenly. */
export type World = {
  /** Also the prefix of its indices. */
  readonly name: string
  readonly submissions: number
  readonly teams: number
  readonly shards: number
  /** Whether there are also detail documents; else only the list of submissions is filled. */
  readonly hasDetails: boolean
}

export const fixedTeam = 'team_fixed'
export const largestTeam = 'team_largest'
export type MeasuredTeam = typeof fixedTeam | typeof largestTeam
export const fixedTeamSubmissions = 2_000
/** Of all submissions. */
const largestTeamShare = 0.25
const seed = 'scale'

/** How many submissions a team has; those of all others together. */
export function sizesOf({
  submissions,
}: Pick<World, 'submissions'>): Readonly<Record<MeasuredTeam | 'others', number>> {
  const largest = Math.round(submissions * largestTeamShare)
  return {
    [fixedTeam]: fixedTeamSubmissions,
    [largestTeam]: largest,
    others: submissions - fixedTeamSubmissions - largest,
  }
}

/** All submissions in the order of created time, the teams mixed. The same at every call. */
export function* submissionRecords(world: Pick<World, 'submissions' | 'teams'>): Generator<SubmissionRecord> {
  const random = seededRandom(`${seed}/${world.submissions}/${world.teams}`)
  const make = submissionMaker(seed)
  const timeOf = busyTimes(newestMs, windowDays)
  const left: Record<string, number> = { ...sizesOf(world) }
  let others = 0
  for (let index = 0; index < world.submissions; index++) {
    const kind = drawn(left, random.below(world.submissions - index))
    left[kind] = (left[kind] ?? 0) - 1
    const teamId = kind === 'others' ? `team_${others++ % (world.teams - 2)}` : kind
    yield make(teamId, timeOf((index + random.float()) / world.submissions))
  }
}

/** Among things of which so many are left, the kind of the one at a place. */
function drawn(left: Readonly<Record<string, number>>, place: number): string {
  let before = 0
  for (const [kind, count] of Object.entries(left)) {
    before += count
    if (place < before) return kind
  }
  throw new Error('there is nothing left')
}

/** The documents that an indexer would store for all of it. */
export function* writesOf(world: World): Generator<DocumentWrite> {
  for (const { key, value, createdAt } of submissionRecords(world)) {
    const change = readSubmissionRecord(Buffer.from(key), Buffer.from(value))
    if (!change.ok) throw new Error(`${key} is no submission`)
    for (const write of submissionWrites(change.value, createdAt))
      if (world.hasDetails || write.kind === 'submissions') yield write
  }
}
