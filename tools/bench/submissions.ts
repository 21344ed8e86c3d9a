import { planForms } from '../sample/forms.ts'
import { entityId, type Random, seededRandom } from '../sample/random.ts'
import { planSubmission, renderSubmission } from '../sample/submissions.ts'
import type { KafkaRecord } from './replica.ts'

export type SubmissionRecord = KafkaRecord & { readonly id: string }

type MakeSubmission = (teamId: string, createdMs: number) => SubmissionRecord

/** Arbitrary: only the order of creation matters. */
export const newestMs = Date.UTC(2026, 0, 1)
/** Submissions are spread over 300 days. */
const windowMs = 300 * 86_400_000
/** The time when this share of all submissions, 0 to 1, was created (epoch ms). */
export const timeOf = (share: number): number => Math.floor(newestMs - (1 - share) * windowMs)

const seed = 'bench'
/** So many that one compressed block rarely has the same report twice. */
const distinctReports = 4_096
const statuses = ['failed', 'processing', 'pending'] as const
/** Of so many submissions in a row, the first few are not completed. */
const statusEvery = 64
const essayBytes = 800
const sites = ['Hamburg', 'Osaka', 'São Paulo', '上海', 'Toronto', 'Nairobi']

type Report = Record<string, unknown> & { readonly examinee: object | null; readonly data: object }
let rendered: readonly Report[] | undefined

/**
 * Submissions with respondents and full reports, of about 3 KB; with an essay and custom data, of about 4 KB that compress less. The same for the
 * same seed.
 */
export function submissionMaker(ownSeed: string, hasEssays = false): MakeSubmission {
  const random = seededRandom(`${seed}/${ownSeed}`)
  rendered ??= renderReports()
  const reports = rendered
  const paragraphs = reports.flatMap(paragraphsOf)
  let serialNumber = 0
  return (teamId, createdMs) => {
    const id = entityId(random, createdMs)
    const createdAt = new Date(createdMs).toISOString()
    const report = random.pick(reports)
    const submission = {
      ...report,
      id,
      serialNumber: ++serialNumber,
      submittedAt: createdAt,
      updatedAt: createdAt,
      ...(hasEssays && {
        examinee: report.examinee && { ...report.examinee, customData: customData(random) },
        data: { ...report.data, essay: essay(random, paragraphs) },
      }),
    }
    return { id, key: `${teamId}/${id}`, value: JSON.stringify({ revision: 1, submission }) }
  }
}

function renderReports(): readonly Report[] {
  const forms = planForms(seed, newestMs).filter(({ state }) => state === 'published')
  return Array.from({ length: distinctReports }, (_, index) => {
    const form = forms[index % forms.length]
    if (form === undefined) throw new Error('the sample world has no forms')
    const plan = planSubmission(seed, index, { form, serialNumber: index, submittedMs: newestMs })
    return renderSubmission(plan, statuses[index % statusEvery] ?? 'completed', newestMs) as Report
  })
}

const customData = (random: Random): object => ({
  employeeNumber: 10_000 + random.below(90_000),
  costCentre: `CC-${random.text('0123456789', 6)}`,
  site: random.pick(sites),
  badge: { level: 1 + random.below(5), tags: random.shuffled(['on-site', 'night shift', 'mentor']).slice(0, 2) },
})

function essay(random: Random, paragraphs: readonly string[]): string {
  let text = random.pick(paragraphs)
  while (Buffer.byteLength(text) < essayBytes) text += `\n\n${random.pick(paragraphs)}`
  return text
}

function paragraphsOf({ reportResult }: Report): string[] {
  const { aiSuggestion } = (reportResult ?? {}) as { aiSuggestion?: { content?: string | null } | null }
  return (aiSuggestion?.content ?? '').split('\n\n').filter((paragraph) => paragraph !== '')
}
