import type { ReportStatus } from '../../src/core/model/submission.ts'
import { EventQueue } from './eventQueue.ts'
import { type FormPlan, planForms, renderForm } from './forms.ts'
import { type Random, seededRandom } from './random.ts'
import { planSubmission, renderSubmission, type SubmissionPlan } from './submissions.ts'
import { type Team, teams } from './teams.ts'

/** For a source topic; a null value deletes. */
export type WorldRecord = {
  readonly topic: 'forms' | 'submissions'
  /** `<teamId>/<id>` */
  readonly key: string
  readonly value: string | null
}

export type Counts = { readonly forms: number; readonly submissions: number }

const windowDays = 90
const dayMs = 86_400_000
/** For so many submissions that stay, one more is created and deleted again. */
const submissionsPerDeletion = 250
const maxDeletionDelayMs = 2 * dayMs
const maxEdits = 3
/** The share of reports that pass through every status; the others have their final status from the start. */
const gradualShare = 0.12
const finalStatuses = ['completed', 'failed', 'processing', 'pending'] as const
const finalWeights = [90, 4, 3, 3]
const failureShare = 0.05
const newAtOnceWeights = [15, 70, 15]
const editShare = 0.02

const revisions: Readonly<Record<ReportStatus, number>> = { pending: 1, processing: 2, completed: 3, failed: 3 }

type FormLife = { readonly plan: FormPlan; edits: number; lastSerial: number }
type Event = { readonly atMs: number; happen(atMs: number): WorldRecord }

type WorldOptions = { readonly seed: string; readonly nowMs: number; readonly submissions: number }

/**
 * The forms of three teams, and `submissions` submissions that exist at `nowMs` (epoch ms), spread over the ninety days before. The same arguments
 * give the same records, byte for byte. The memory is independent of `submissions`.
 */
export class World {
  readonly teams = teams
  readonly #options: WorldOptions
  readonly #random: Random
  readonly #forms: readonly FormLife[]
  readonly #pickForm: () => FormLife
  readonly #queue = new EventQueue<Event>()
  readonly #counts = new Map(teams.map(({ id }) => [id, { forms: 0, submissions: 0 }]))
  #nextIndex = 0

  constructor(options: WorldOptions) {
    this.#options = options
    this.#random = seededRandom(`${options.seed}/world`)
    this.#forms = planForms(options.seed, options.nowMs).map((plan): FormLife => ({ plan, edits: 0, lastSerial: 0 }))
    this.#pickForm = formPicker(this.#forms, this.#random)
  }

  /** After the records that were generated so far. */
  counts(teamId: string): Counts {
    return this.#counts.get(teamId) ?? { forms: 0, submissions: 0 }
  }

  /** Every record up to now, in order of time. To be iterated once. */
  *past(): Generator<WorldRecord> {
    const { nowMs, submissions } = this.#options
    yield* this.#createForms()
    const deletions = Math.floor(submissions / submissionsPerDeletion)
    const total = submissions + deletions
    for (let index = 0; index < total; index++) {
      const submittedMs = Math.floor(nowMs - (1 - (index + this.#random.float()) / total) * windowDays * dayMs)
      yield* this.#happenedUntil(submittedMs)
      const isDeletedLater = Math.floor(((index + 1) * deletions) / total) > Math.floor((index * deletions) / total)
      yield this.#pastSubmission(submittedMs, isDeletedLater)
    }
    yield* this.#happenedUntil(nowMs)
  }

  /** The records since the last call, or the end of the past: new submissions, reports, edits. */
  step(nowMs: number): WorldRecord[] {
    const random = this.#random
    const records = [...this.#happenedUntil(nowMs)]
    for (let left = random.weighted(newAtOnceWeights); left > 0; left--) {
      const plan = this.#submit(nowMs)
      this.#scheduleReport(plan, random.chance(failureShare) ? 'failed' : 'completed')
      records.push(submissionRecord(plan, 'pending', nowMs))
    }
    if (random.chance(editShare)) records.push(this.#edit(this.#pickForm(), nowMs))
    return records
  }

  *#happenedUntil(untilMs: number): Generator<WorldRecord> {
    for (let next = this.#queue.take(untilMs); next !== undefined; next = this.#queue.take(untilMs))
      yield next.happen(next.atMs)
  }

  *#createForms(): Generator<WorldRecord> {
    const { nowMs } = this.#options
    for (const form of this.#forms.toSorted((a, b) => a.plan.createdMs - b.plan.createdMs)) {
      const { team, id, createdMs, state } = form.plan
      this.#count(team.id, 'forms', 1)
      yield formRecord(form, createdMs)
      const laterMs = (): number => nowMs - Math.floor(this.#random.float() * windowDays * dayMs)
      for (let edits = this.#random.below(maxEdits + 1); edits > 0; edits--)
        this.#queue.add({ atMs: laterMs(), happen: (atMs) => this.#edit(form, atMs) })
      if (state === 'discarded') this.#queue.add({ atMs: nowMs, happen: () => this.#remove('forms', team, id) })
    }
  }

  #pastSubmission(submittedMs: number, isDeletedLater: boolean): WorldRecord {
    const random = this.#random
    const { nowMs } = this.#options
    const plan = this.#submit(submittedMs)
    const final = finalStatuses[random.weighted(finalWeights)] ?? 'completed'
    if (isDeletedLater) {
      const atMs = Math.min(submittedMs + random.below(maxDeletionDelayMs), nowMs)
      this.#queue.add({ atMs, happen: () => this.#remove('submissions', plan.form.team, plan.id) })
    } else if (random.chance(gradualShare)) {
      this.#scheduleReport(plan, final)
      return submissionRecord(plan, 'pending', submittedMs)
    }
    return submissionRecord(plan, final, Math.min(submittedMs + revisions[final] * 4_000, nowMs))
  }

  #submit(submittedMs: number): SubmissionPlan {
    const form = this.#pickForm()
    form.lastSerial += 1
    this.#count(form.plan.team.id, 'submissions', 1)
    const of = { form: form.plan, serialNumber: form.lastSerial, submittedMs }
    return planSubmission(this.#options.seed, this.#nextIndex++, of)
  }

  #scheduleReport(plan: SubmissionPlan, final: ReportStatus): void {
    const startedMs = plan.submittedMs + 1_000 + this.#random.below(4_000)
    const add = (atMs: number, status: ReportStatus): void =>
      this.#queue.add({ atMs, happen: () => submissionRecord(plan, status, atMs) })
    if (final === 'pending') return
    add(startedMs, 'processing')
    if (final !== 'processing') add(startedMs + 3_000 + this.#random.below(12_000), final)
  }

  #edit(form: FormLife, atMs: number): WorldRecord {
    form.edits += 1
    return formRecord(form, atMs)
  }

  #remove(topic: WorldRecord['topic'], team: Team, id: string): WorldRecord {
    this.#count(team.id, topic, -1)
    return { topic, key: `${team.id}/${id}`, value: null }
  }

  #count(teamId: string, what: keyof Counts, change: 1 | -1): void {
    const own = this.#counts.get(teamId)
    if (own !== undefined) own[what] += change
  }
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
