import type { ReportStatus } from '../../src/core/model/submission.ts'
import { answer } from './answers.ts'
import type { FormPlan } from './forms.ts'
import { entityId, type Random, seededRandom, token } from './random.ts'
import { renderReport } from './report.ts'
import { renderExaminee, renderMetadata } from './respondents.ts'

export type SubmissionPlan = Place & { readonly seed: string; readonly id: string }

type Place = { readonly form: FormPlan; readonly serialNumber: number; readonly submittedMs: number }

/** Submission number `index` of the world, the `serialNumber`-th of its form. */
export function planSubmission(seed: string, index: number, place: Place): SubmissionPlan {
  const ownSeed = `${seed}/submission/${index}`
  return { ...place, seed: ownSeed, id: entityId(seededRandom(`${ownSeed}/id`), place.submittedMs) }
}

/** The submission at `updatedMs`, with the members of the specification's submission summary and single submission. */
export function renderSubmission(
  plan: SubmissionPlan,
  status: ReportStatus,
  updatedMs: number,
): Record<string, unknown> {
  const { form, id, serialNumber, submittedMs } = plan
  const random = seededRandom(plan.seed)
  const shareToken = token(random, 12)
  const examinee = renderExaminee(form, random)
  const metadata = renderMetadata(form, random)
  const answers = answer(form, random)
  const data = { ...answers.data, ...contactAnswers(form, examinee, random) }
  return {
    id,
    serialNumber,
    formId: form.id,
    shareToken,
    reportUrl: `https://quiz.example/r/${shareToken}`,
    submittedAt: new Date(submittedMs).toISOString(),
    updatedAt: new Date(updatedMs).toISOString(),
    examinee,
    metadata,
    data,
    ...renderReport(form, answers, status, random),
  }
}

function contactAnswers(
  { language }: FormPlan,
  examinee: Record<string, unknown> | null,
  random: Random,
): Record<string, unknown> {
  return {
    ...(examinee !== null && { name: examinee['name'], email: examinee['email'] }),
    heard_from: random
      .shuffled(['a', 'b', 'c', 'd'])
      .slice(0, 1 + random.below(2))
      .sort(),
    ...(random.chance(0.25) && { comment: random.pick(language.comments) }),
  }
}
