import { planForms } from '../demo/forms.ts'
import { planSubmission, renderSubmission } from '../demo/submissions.ts'

const statuses = ['failed', 'processing', 'pending'] as const
/** Of so many in a row, the first few are not completed. */
const statusEvery = 64

/** What quiz takers of the sample world handed in, `count` of them, most with their full report. The same at every call. */
export function renderReports(seed: string, count: number, atMs: number): Record<string, unknown>[] {
  const forms = planForms(seed, atMs).filter(({ state }) => state === 'published')
  return Array.from({ length: count }, (_, index) => {
    const form = forms[index % forms.length]
    if (form === undefined) throw new Error('the sample world has no forms')
    const plan = planSubmission(seed, index, { form, serialNumber: index, submittedMs: atMs })
    return renderSubmission(plan, statuses[index % statusEvery] ?? 'completed', atMs)
  })
}
