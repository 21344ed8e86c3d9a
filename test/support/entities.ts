import { type AccountKey, type AccountKeyState, digestOf } from '../../src/core/model/accountKey.ts'

/** Entities in records, with every documented field; `changes` replaces members. */

type Entity = Readonly<Record<string, unknown>> & { readonly id: string }

export const formEntity = (changes: Entity): Entity => ({
  ...{ title: 'Product Knowledge Quiz', scene: 'knowledge_quiz', language: 'en_US', publicToken: 'a1B2c3' },
  ...{ shareUrl: 'https://quiz.example/f/a1B2c3', localization: { de_DE: { title: 'Produktwissen' } }, isActive: true },
  ...{ createdAt: '2026-03-01T09:30:00.000Z', updatedAt: '2026-03-02T10:00:00.250Z' },
  ...{ description: 'What do you know?', layout: 'one_per_page', systemText: { submit: 'Send' } },
  fields: [{ code: 'q1', type: 'single_choice' }, { type: 'page_break' }],
  report: { dimensions: ['accuracy'] },
  ...changes,
})

export const submissionEntity = (changes: Entity): Entity => ({
  ...{ serialNumber: 17, formId: 'form-1', shareToken: 's7T8u9', reportUrl: 'https://quiz.example/r/s7T8u9' },
  ...{ submittedAt: '2026-04-01T12:00:00.000Z', updatedAt: '2026-04-01T12:05:00.500Z' },
  examinee: { id: 'm1', examineeId: 'e1', email: 'ada@example.com', name: 'Ada', customData: null },
  metadata: {
    ...{ utmSource: 'newsletter', utmMedium: 'email', utmCampaign: 'spring', utmTerm: null, utmContent: null },
    ...{ referrer: 'https://example.com/', ip: '203.0.113.7', userAgent: 'Mozilla/5.0' },
  },
  data: { q1: 'A', q2: ['B', 'C'] },
  result: { status: 'completed', score: 80, maxScore: 100, level: 'good', outcomeCode: null, outcomeName: null },
  reportResult: {
    status: 'completed',
    overallAnalysis: { score: 80, maxScore: 100, level: 'good', summary: 'Well done', suggestions: 'Read on' },
    dimensionAnalysis: { title: 'D', radar: [{ name: 'accuracy', value: 0.8 }], items: [{ name: 'accuracy' }] },
    outcome: { code: null, name: null, ranking: null },
    aiSuggestion: { status: 'completed', content: 'Keep going' },
  },
  ...changes,
})

type KeyChanges = Readonly<Partial<Record<'revision' | keyof AccountKey, unknown>>>

/** The state of an account key that is active and lasts, but for `changes`. */
export const keyState = ({ revision = 1, ...changes }: KeyChanges = {}): AccountKeyState => {
  const known = { id: 'k1', name: 'Dashboard', digest: digestOf('rqp_acct_one'), state: 'active' }
  const creation = { createdAt: '2026-01-01T00:00:00.000Z', createdBy: 'owner' }
  return { revision, key: { ...known, ...creation, ...changes } } as AccountKeyState
}
export const accountKeyRecord = (changes: KeyChanges): string => JSON.stringify(keyState(changes))

/** JSON that parsing and rendering would change: key order, digits, exponents, escapes. */
export const opaque = String.raw`{"10":"ten","2":12345678901234567890.10,"b":1E+2,"a":-0.0,"esc":"\u00e9\/é","deep":[{"z":1.0,"1":[]}]}`
