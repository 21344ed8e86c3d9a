import type { TeamId } from '../../../../src/core/model/ids.ts'
import { formEntity, submissionEntity } from '../../../support/entities.ts'
import { formRecord, submissionRecord } from '../../../support/replicaRecords.ts'
import { servedForm, servedFormSummary, servedSubmission, servedSubmissionSummary } from '../../../support/served.ts'

const team = 'acme' as TeamId

test('entities have the documented members, in that order', () => {
  const form = formRecord(team, 'f1', 1, { secret: 1 }).live?.entity
  const submission = submissionRecord(team, 's1', 1, { secret: 1 }).live?.entity
  expect(String(form?.summary)).toBe(JSON.stringify(servedFormSummary(formEntity({ id: 'f1' }))))
  expect(String(form?.detail)).toBe(JSON.stringify(servedForm(formEntity({ id: 'f1' }))))
  expect(String(submission?.summary)).toBe(JSON.stringify(servedSubmissionSummary(submissionEntity({ id: 's1' }))))
  expect(String(submission?.detail)).toBe(JSON.stringify(servedSubmission(submissionEntity({ id: 's1' }))))
})
