import { readFormRecord, readSubmissionRecord } from '../../../src/core/model/change.ts'
import type { Instant } from '../../../src/core/model/instant.ts'
import { type DocumentWrite, formWrites, submissionWrites } from '../../../src/core/stores/documents.ts'
import { busyTimes } from '../../demo/calendar.ts'
import { planForms, renderForm } from '../../demo/forms.ts'
import { entityId, seededRandom } from '../../demo/random.ts'
import type { KafkaRecord } from '../replica.ts'
import { newestMs, type SubmissionRecord, submissionMaker, windowDays } from '../submissions.ts'

/** What indices of their own hold: a team that is the same size everywhere, a largest team, and others that share the rest evenly. */
export type World = {
  /** Also the prefix of its indices. */
  readonly name: string
  readonly submissions: number
  readonly teams: number
  readonly shards: number
  /** Whether there are also detail documents, and forms; else only the list of submissions is filled. */
  readonly hasDetails: boolean
}

export const fixedTeam = 'team_fixed'
export const largestTeam = 'team_largest'
export type MeasuredTeam = typeof fixedTeam | typeof largestTeam
export const fixedTeamSubmissions = 2_000
/** Of all submissions. */
const largestTeamShare = 0.25
const submissionsPerForm = 100
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

type FormRecord = KafkaRecord & { readonly createdAt: Instant }

/** Forms of the sample world with their questions and reports, spread over the teams. */
export function* formRecords({ submissions, teams }: Pick<World, 'submissions' | 'teams'>): Generator<FormRecord> {
  const wanted = Math.ceil(submissions / submissionsPerForm)
  let made = 0
  for (let world = 0; made < wanted; world++) {
    const random = seededRandom(`${seed}/forms/${world}`)
    for (const plan of planForms(`${seed}/${world}`, newestMs).slice(0, wanted - made)) {
      const createdAt = new Date(plan.createdMs).toISOString() as Instant
      const form = { ...renderForm(plan, 0, plan.createdMs), id: entityId(random, plan.createdMs) }
      yield { key: `team_${made++ % (teams - 2)}/${form.id}`, value: JSON.stringify({ revision: 1, form }), createdAt }
    }
  }
}

/** The documents that an indexer would store for all of it. */
export function* writesOf(world: World): Generator<DocumentWrite> {
  for (const record of submissionRecords(world))
    for (const write of submissionDocuments(record)) if (world.hasDetails || write.kind === 'submissions') yield write
  if (!world.hasDetails) return
  for (const { key, value, createdAt } of formRecords(world)) {
    const change = readFormRecord(Buffer.from(key), Buffer.from(value))
    if (!change.ok) throw new Error(`${key} is no form`)
    yield* formWrites(change.value, createdAt)
  }
}

function submissionDocuments({ key, value, createdAt }: SubmissionRecord): DocumentWrite[] {
  const change = readSubmissionRecord(Buffer.from(key), Buffer.from(value))
  if (!change.ok) throw new Error(`${key} is no submission`)
  return submissionWrites(change.value, createdAt)
}
