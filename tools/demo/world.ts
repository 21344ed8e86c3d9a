import type { ReportStatus } from '../../src/core/model/submission.ts'
import { busyTimes } from './calendar.ts'
import { Agenda } from './eventQueue.ts'
import { type FormPlan, planForms, renderForm } from './forms.ts'
import { type Random, seededRandom } from './random.ts'
import { planSubmission, renderSubmission, type SubmissionPlan } from './submissions.ts'
import { type Team, teams } from './teams.ts'

/** A record for one of the source topics; a null value deletes. */
export type WorldRecord = {
  readonly topic: 'forms' | 'submissions'
  /** `<teamId>/<id>` */
  readonly key: string
  readonly value: string | null
}

export type Counts = { readonly forms: number; readonly submissions: number }

export type World = {
  readonly teams: readonly Team[]
  /** Every record up to now, made as it is asked for, in the order in which things happened. To be walked once. */
  past(): Generator<WorldRecord>
  /** What happens between the last call, or the end of the past, and `nowMs`: a new submission or two, reports, edits. */
  step(nowMs: number): WorldRecord[]
  /** What stands after the records handed out so far. */
  counts(teamId: string): Counts
}

const windowDays = 90
const dayMs = 86_400_000
/** One more submission for so many that stay is deleted again. */
const submissionsPerDeletion = 250
const maxDeletionDelayMs = 2 * dayMs
const maxEdits = 3
/** How many reports are seen on their way; the others come as they stand in the end. */
const watchedShare = 0.12
const finalStatuses = ['completed', 'failed', 'processing', 'pending'] as const
const finalWeights = [90, 4, 3, 3]
const failureShare = 0.05
const newAtOnceWeights = [15, 70, 15]
const editShare = 0.02

const revisions: Readonly<Record<ReportStatus, number>> = { pending: 1, processing: 2, completed: 3, failed: 3 }

type FormLife = { readonly plan: FormPlan; edits: number; lastSerial: number }
type Happening = (atMs: number) => WorldRecord

/**
 * Three teams, their forms, and `submissions` submissions that stand at `nowMs` (epoch ms), spread over the ninety days
 * before. The same arguments give the same records, byte for byte; a million submissions take no more memory than ten.
 */
export function createWorld(options: { seed: string; nowMs: number; submissions: number }): World {
  const { seed, nowMs, submissions } = options
  const random = seededRandom(`${seed}/world`)
  const forms = planForms(seed, nowMs).map((plan): FormLife => ({ plan, edits: 0, lastSerial: 0 }))
  const pickForm = formPicker(forms, random)
  const agenda = new Agenda<Happening>()
  const counts = new Map(teams.map(({ id }) => [id, { forms: 0, submissions: 0 }]))
  let nextIndex = 0

  const count = (teamId: string, what: keyof Counts, change: 1 | -1): void => {
    const own = counts.get(teamId)
    if (own !== undefined) own[what] += change
  }

  const edit = (form: FormLife, atMs: number): WorldRecord => {
    form.edits += 1
    return formRecord(form, atMs)
  }
  const remove = (topic: WorldRecord['topic'], team: Team, id: string): WorldRecord => {
    count(team.id, topic, -1)
    return { topic, key: `${team.id}/${id}`, value: null }
  }
  const submit = (submittedMs: number): SubmissionPlan => {
    const form = pickForm()
    form.lastSerial += 1
    count(form.plan.team.id, 'submissions', 1)
    return planSubmission(seed, nextIndex++, { form: form.plan, serialNumber: form.lastSerial, submittedMs })
  }
  /** Notes the further life of a report that is pending now. */
  const watch = (plan: SubmissionPlan, final: ReportStatus): void => {
    const startedMs = plan.submittedMs + 1_000 + random.below(4_000)
    if (final === 'pending') return
    agenda.note(startedMs, (atMs) => submissionRecord(plan, 'processing', atMs))
    if (final === 'processing') return
    agenda.note(startedMs + 3_000 + random.below(12_000), (atMs) => submissionRecord(plan, final, atMs))
  }

  function* beginForms(): Generator<WorldRecord> {
    for (const form of forms.toSorted((a, b) => a.plan.createdMs - b.plan.createdMs)) {
      const { team, id, createdMs, state } = form.plan
      count(team.id, 'forms', 1)
      yield formRecord(form, createdMs)
      const laterMs = (): number => nowMs - Math.floor(random.float() * windowDays * dayMs)
      for (let edits = random.below(maxEdits + 1); edits > 0; edits--)
        agenda.note(laterMs(), (atMs) => edit(form, atMs))
      if (state === 'discarded') agenda.note(nowMs, () => remove('forms', team, id))
    }
  }

  function* past(): Generator<WorldRecord> {
    yield* beginForms()
    const timeOf = busyTimes(nowMs, windowDays)
    const deletions = Math.floor(submissions / submissionsPerDeletion)
    const total = submissions + deletions
    for (let index = 0; index < total; index++) {
      const submittedMs = timeOf((index + random.float()) / total)
      for (const { atMs, event } of agenda.due(submittedMs)) yield event(atMs)
      const plan = submit(submittedMs)
      const isDoomed = Math.floor(((index + 1) * deletions) / total) > Math.floor((index * deletions) / total)
      const final = finalStatuses[random.weighted(finalWeights)] ?? 'completed'
      if (isDoomed) {
        const deletedMs = Math.min(submittedMs + random.below(maxDeletionDelayMs), nowMs)
        agenda.note(deletedMs, () => remove('submissions', plan.form.team, plan.id))
      }
      if (!isDoomed && random.chance(watchedShare)) {
        watch(plan, final)
        yield submissionRecord(plan, 'pending', submittedMs)
      } else yield submissionRecord(plan, final, Math.min(submittedMs + revisions[final] * 4_000, nowMs))
    }
    for (const { atMs, event } of agenda.due(nowMs)) yield event(atMs)
  }

  const step = (stepMs: number): WorldRecord[] => {
    const records = [...agenda.due(stepMs)].map(({ atMs, event }) => event(atMs))
    for (let left = random.weighted(newAtOnceWeights); left > 0; left--) {
      const plan = submit(stepMs)
      watch(plan, random.chance(failureShare) ? 'failed' : 'completed')
      records.push(submissionRecord(plan, 'pending', stepMs))
    }
    if (random.chance(editShare)) records.push(edit(pickForm(), stepMs))
    return records
  }

  return { teams, past, step, counts: (teamId) => counts.get(teamId) ?? { forms: 0, submissions: 0 } }
}

/** Picks a published form: a team by its share, then one of its forms by its weight. */
function formPicker(forms: readonly FormLife[], random: Random): () => FormLife {
  const choices = teams.map((team) => {
    const own = forms.filter(({ plan }) => plan.team === team && plan.state === 'published')
    return { own, weights: own.map(({ plan }) => plan.weight) }
  })
  const shares = teams.map(({ sharePercent }) => sharePercent)
  return () => {
    const { own, weights } = choices[random.weighted(shares)] ?? random.pick(choices)
    return own[random.weighted(weights)] ?? random.pick(own)
  }
}

const formRecord = ({ plan, edits }: FormLife, updatedMs: number): WorldRecord => ({
  topic: 'forms',
  key: `${plan.team.id}/${plan.id}`,
  value: JSON.stringify({ revision: edits + 1, form: renderForm(plan, edits, updatedMs) }),
})

const submissionRecord = (plan: SubmissionPlan, status: ReportStatus, updatedMs: number): WorldRecord => ({
  topic: 'submissions',
  key: `${plan.form.team.id}/${plan.id}`,
  value: JSON.stringify({ revision: revisions[status], submission: renderSubmission(plan, status, updatedMs) }),
})
