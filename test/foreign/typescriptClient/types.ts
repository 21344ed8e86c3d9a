import { type Batch, type FormSummary, type RecordSummary, Tidemark, TidemarkError } from 'tidemark-client'
import { fetch as otherFetch } from './otherFetch.ts'

/*
 * Compiled, but not run: what the compiler accepts and refuses. It reports a line that `@ts-expect-error` stands before if it finds nothing wrong there.
 */

const tidemark = new Tidemark({ baseUrl: 'https://quiz.example/api/v1', accountKey: 'rqp_acct_1' })

export const accepted = {
  fetches: [
    new Tidemark({ baseUrl: '', accountKey: '', fetch }),
    new Tidemark({ baseUrl: '', accountKey: '', fetch: otherFetch }),
  ],
  batches: tidemark.follow('records') satisfies AsyncGenerator<Batch<RecordSummary>>,
  withoutCursor: [
    tidemark.follow('forms', { cursor: null, signal: undefined }),
    tidemark.follow('forms', { cursor: undefined }),
  ],
  filters: tidemark.records.list({ status: 'failed', answers: { q1: 'yes', q2: ['a', 'b'] }, formId: undefined }),
  fieldsOfData: tidemark.records.export({ fields: ['data.any code', 'result.outcomeName'] }),
  deepFields: tidemark.follow('records', { view: 'full', fields: ['reportResult.dimensionAnalysis.radar'] }),
}

export async function members(isAsked: boolean, names: readonly ('id' | 'title')[]) {
  for await (const { rows } of tidemark.follow('records', { fields: ['result.score', 'formId', 'examinee.email'] })) {
    for (const row of rows) {
      const changed: string = row.changedAt
      // @ts-expect-error a deletion has no other members
      changed satisfies typeof row.formId
      if (row.deleted) continue
      const score: number | null = row.result.score
      const email: string | null | undefined = row.examinee?.email
      // @ts-expect-error there may be no examinee
      row.examinee.email
      // @ts-expect-error was not asked for
      row.result.status
      // @ts-expect-error was not asked for
      row.submittedAt
      // @ts-expect-error is a number
      email satisfies typeof score
    }
  }
  const whole: FormSummary = (await tidemark.forms.list()).items[0] as FormSummary
  // @ts-expect-error is a member of the single form alone
  whole.layout
  // @ts-expect-error may be missing: the names are not known before the program runs
  const id: string = (await tidemark.forms.list({ fields: names })).items[0]?.id ?? null
  const report: object | null = (await tidemark.forms.get('f', { includeReport: true, includeFields: false })).report
  // @ts-expect-error may be left out
  const fields: unknown[] | null = (await tidemark.forms.get('f', { includeFields: isAsked })).fields
  const days: string | undefined = (await tidemark.counts({ by: 'day' })).items[0]?.key
  // @ts-expect-error is null for submissions without a level
  const levels: string | undefined = (await tidemark.counts({ by: 'level' })).items[0]?.key
  // @ts-expect-error scores were not asked for
  const scores: unknown = (await tidemark.counts({ by: 'level' })).items[0]?.scores
  return [id, report, fields, days, levels, scores]
}

export const refused = (): readonly unknown[] => [
  // @ts-expect-error an account key is needed
  new Tidemark({ baseUrl: '' }),
  // @ts-expect-error no such list
  tidemark.follow('answers'),
  // @ts-expect-error no such field
  tidemark.follow('records', { fields: ['title'] }),
  // @ts-expect-error a field of the whole submission alone
  tidemark.follow('records', { fields: ['reportResult'] }),
  // @ts-expect-error no such parameter
  tidemark.records.list({ formID: 'f' }),
  // @ts-expect-error no such status
  tidemark.records.list({ status: 'done' }),
  // @ts-expect-error of submissions
  tidemark.forms.list({ formId: 'f' }),
  // @ts-expect-error an export has no pages
  tidemark.forms.export({ page: 2 }),
  // @ts-expect-error of forms
  tidemark.records.get('r', { includeFields: false }),
  // @ts-expect-error no such parameter
  tidemark.forms.get('f', { includefields: false }),
  // @ts-expect-error the code of the field is missing
  tidemark.counts({ by: 'answer' }),
  // @ts-expect-error levels have no code
  tidemark.counts({ by: 'level', code: 'q1' }),
  // @ts-expect-error no such unit
  tidemark.counts({ by: 'week' }),
  // @ts-expect-error a plain error of the package has no status
  new TidemarkError('').status,
]
