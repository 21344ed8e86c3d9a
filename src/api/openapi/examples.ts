import { readFormRecord, readSubmissionRecord } from '../../core/model/record.ts'
import { renderPage } from '../search/page.ts'
import { renderCounts } from '../submissionCounts.ts'

const form = {
  id: '66f2a1c4e8b0',
  title: 'Product Knowledge Quiz',
  scene: 'knowledge_quiz',
  language: 'en_US',
  publicToken: 'a1B2c3',
  shareUrl: 'https://quiz.example/f/a1B2c3',
  localization: null,
  isActive: true,
  createdAt: '2026-03-01T09:30:00.000Z',
  updatedAt: '2026-03-02T10:00:00.250Z',
  description: 'What do you know about our products?',
  layout: 'one_per_page',
  systemText: { submit: 'Send' },
  fields: [{ code: 'q1', type: 'single_choice' }, { type: 'page_break' }],
  report: { dimensions: ['accuracy'] },
}

const submission = {
  id: '66f2b7d90a31',
  serialNumber: 17,
  formId: form.id,
  shareToken: 's7T8u9',
  reportUrl: 'https://quiz.example/r/s7T8u9',
  submittedAt: '2026-04-01T12:00:00.000Z',
  updatedAt: '2026-04-01T12:05:00.500Z',
  examinee: { id: 'm1', examineeId: 'e1', email: 'ada@example.com', name: 'Ada', customData: null },
  metadata: {
    utmSource: 'newsletter',
    utmMedium: 'email',
    utmCampaign: 'spring',
    utmTerm: null,
    utmContent: null,
    referrer: 'https://example.com/',
    ip: '203.0.113.7',
    userAgent: 'Mozilla/5.0',
  },
  data: { q1: 'A' },
  result: { status: 'completed', score: 80, maxScore: 100, level: 'good', outcomeCode: null, outcomeName: null },
  reportResult: {
    status: 'completed',
    overallAnalysis: { score: 80, maxScore: 100, level: 'good', summary: 'Well done', suggestions: 'Read on' },
    dimensionAnalysis: { title: 'Dimensions', radar: [{ name: 'accuracy', value: 0.8 }], items: [] },
    outcome: { code: null, name: null, ranking: null },
    aiSuggestion: { status: 'completed', content: 'Keep going' },
  },
}

/** The examples of a list and of a single entity, rendered by the code that renders real ones. */
function examplesOf(
  read: typeof readFormRecord | typeof readSubmissionRecord,
  member: string,
  entity: { readonly id: string },
) {
  const value = JSON.stringify({ revision: 1, [member]: entity })
  const result = read(Buffer.from(`team/${entity.id}`), Buffer.from(value))
  if (!result.ok || result.value.live === null) throw new Error(`the example of a ${member} is not valid`)
  const { summary, detail } = result.value.live.entity
  return [example(renderPage({ totalDocs: 1, page: 1, limit: 20, items: [summary] })), example(detail)] as const
}

const example = (json: Buffer) => ({ example: { value: JSON.parse(json.toString()) as unknown } })

const [FormList, Form] = examplesOf(readFormRecord, 'form', form)
const [SubmissionList, Submission] = examplesOf(readSubmissionRecord, 'submission', submission)

const counts = {
  totalDocs: 3,
  items: [
    { key: '2026-03-29T01:00:00.000+01:00', count: 2 },
    { key: '2026-03-29T03:00:00.000+02:00', count: 1 },
  ],
}
const SubmissionCounts = example(renderCounts('hour', counts))

/** An example of each answer. */
export const examples = { FormList, Form, SubmissionList, Submission, SubmissionCounts } as const

export const exampleIds = { form: form.id, submission: submission.id } as const
