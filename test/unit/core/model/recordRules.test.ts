import { readAccountKeyRecord, readFormRecord, readSubmissionRecord } from '../../../../src/core/model/record.ts'
import { formEntity, submissionEntity } from '../../../support/entities.ts'
import { validValues } from '../../../support/recordValues.ts'

const readForm = (form: string) => readFormRecord(Buffer.from('acme/f1'), Buffer.from(`{"revision":1,"form":${form}}`))
const readSubmission = (submission: string) =>
  readSubmissionRecord(Buffer.from('acme/s1'), Buffer.from(`{"revision":1,"submission":${submission}}`))
const readKey = (changes: Record<string, unknown>) => {
  const { key } = validValues['account-key']
  const value = JSON.stringify({ revision: 1, key: { ...key, ...changes } })
  return readAccountKeyRecord(Buffer.from('acme/e1'), Buffer.from(value))
}
const form = (changes: Record<string, unknown>): string => JSON.stringify(formEntity({ id: 'f1', ...changes }))
const submission = (changes: Record<string, unknown>): string =>
  JSON.stringify(submissionEntity({ id: 's1', ...changes }))
const pathOf = (result: { ok: boolean; problem?: { path: string } }): string => result.problem?.path ?? 'accepted'

test('the first problem is told, and those after it are not', () => {
  expect(pathOf(readForm(form({ title: 1, scene: 'x', createdAt: '' })))).toBe('form.title')
  expect(pathOf(readForm(form({ scene: 'x', createdAt: '' })))).toBe('form.scene')
})

test('the empty title is a title, and so is half of a surrogate pair', () => {
  expect(pathOf(readForm(form({ title: '' })))).toBe('accepted')
  expect(pathOf(readForm(form({}).replace('"Product Knowledge Quiz"', '"\\ud83d"')))).toBe('accepted')
})

describe('What Elasticsearch would refuse for one of the two documents only', () => {
  const lists = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)

  test('is nesting beyond 998 levels of a documented member', () => {
    const withFields = (depth: number) =>
      readForm(form({}).replace('[{"code":"q1","type":"single_choice"},{"type":"page_break"}]', lists(depth)))
    expect(pathOf(withFields(998))).toBe('accepted')
    expect(pathOf(withFields(999))).toBe('form.fields')
    expect(pathOf(withFields(200_000))).toBe('form.fields')
  })

  test('is nesting anywhere within a documented member', () => {
    const text = (depth: number): string => submission({}).replace('"customData":null', `"customData":${lists(depth)}`)
    expect(pathOf(readSubmission(text(997)))).toBe('accepted')
    expect(pathOf(readSubmission(text(998)))).toBe('submission.examinee.customData')
  })

  test('is a number of more than a thousand characters', () => {
    const text = (digits: number): string => submission({}).replace('"q1":"A"', `"q1":${'7'.repeat(digits)}`)
    expect(pathOf(readSubmission(text(1_000)))).toBe('accepted')
    expect(pathOf(readSubmission(text(1_001)))).toBe('submission.data')
  })

  test('is none of this where it is not served, or only text', () => {
    expect(pathOf(readForm(form({}).replace('{', `{"secret":${lists(5_000)},`)))).toBe('accepted')
    expect(pathOf(readForm(form({ description: '['.repeat(5_000) + '7'.repeat(5_000) })))).toBe('accepted')
  })
})

describe('An account key', () => {
  test('holds no half of a surrogate pair, which the scripts of Redis cannot read', () => {
    const read = readKey({ name: 'n\ud800', createdBy: '\udc00', start: '\ud800', revokedBy: '\ud800' })
    const key = { name: 'n\ufffd', createdBy: '\ufffd', start: '\ufffd', revokedBy: '\ufffd' }
    expect(read).toMatchObject({ value: { key } })
  })

  test('has its moments in UTC with milliseconds', () => {
    const key = { createdAt: '2026-03-01T10:00:00.000Z', expiresAt: '2026-03-01T10:00:00.123Z' }
    const read = readKey({ createdAt: '2026-03-01T10:00:00Z', expiresAt: '2026-03-01T11:00:00.12345+01:00' })
    expect(read).toMatchObject({ value: { key } })
  })
})
