import { readAccountKeyRecord, readFormRecord, readSubmissionRecord } from '../../../../src/core/model/record.ts'
import { formEntity, submissionEntity } from '../../../support/entities.ts'

const readForm = (form: string) => readFormRecord(Buffer.from('acme/f1'), Buffer.from(`{"revision":1,"form":${form}}`))
const readSubmission = (submission: string) =>
  readSubmissionRecord(Buffer.from('acme/s1'), Buffer.from(`{"revision":1,"submission":${submission}}`))
const readKey = (changes: Record<string, unknown>) => {
  const key = {
    id: 'k1',
    name: 'n',
    digest: 'ab'.repeat(32),
    state: 'active',
    createdAt: '2026-03-01T10:00:00Z',
    createdBy: 'o',
  }
  return readAccountKeyRecord(
    Buffer.from('acme/k1'),
    Buffer.from(JSON.stringify({ revision: 1, key: { ...key, ...changes } })),
  )
}
const form = (changes: Record<string, unknown>): string => JSON.stringify(formEntity({ id: 'f1', ...changes }))
const submission = (changes: Record<string, unknown>): string =>
  JSON.stringify(submissionEntity({ id: 's1', ...changes }))
const pathOf = (result: { ok: boolean; problem?: { path: string } }): string => result.problem?.path ?? 'accepted'

test('the first problem is told, and those after it are not', () => {
  expect(pathOf(readForm(form({ title: 1, scene: 'x', createdAt: '' })))).toBe('form.title')
  expect(pathOf(readForm(form({ scene: 'x', createdAt: '' })))).toBe('form.scene')
})

test.each(['quiz', '', 'KNOWLEDGE_QUIZ'])('the scene %p is refused', (scene) => {
  expect(pathOf(readForm(form({ scene })))).toBe('form.scene')
})

test.each(['done', '', 'Completed'])('the report status %p is refused', (status) => {
  expect(pathOf(readSubmission(submission({ result: { status } })))).toBe('submission.result.status')
  expect(pathOf(readSubmission(submission({ reportResult: { status } })))).toBe('submission.reportResult.status')
})

const withSerialNumber = (number: string): string =>
  submission({}).replace('"serialNumber":17', `"serialNumber":${number}`)

test.each(['1.5', '-0.5', '1e-3', '1e400', '"17"', '1'.repeat(400)])('the serial number %s is refused', (number) => {
  expect(readSubmission(withSerialNumber(number))).toEqual({
    ok: false,
    problem: { path: 'submission.serialNumber', rule: 'expected an integer' },
  })
})

test.each(['0', '-7', '9007199254740993', '17.0', '1e3', '-0'])('the serial number %s is an integer', (number) => {
  expect(pathOf(readSubmission(withSerialNumber(number)))).toBe('accepted')
})

test.each(['2026-03-01T10:00:00', '2026-02-30T10:00:00Z', '', '1772359200000'])('%p is refused as a moment', (text) => {
  expect(pathOf(readForm(form({ createdAt: text })))).toBe('form.createdAt')
  expect(pathOf(readForm(form({ updatedAt: text })))).toBe('form.updatedAt')
  expect(pathOf(readSubmission(submission({ submittedAt: text })))).toBe('submission.submittedAt')
  expect(pathOf(readKey({ expiresAt: text }))).toBe('key.expiresAt')
})

test('the empty title is a title, and so is half of a surrogate pair', () => {
  expect(pathOf(readForm(form({ title: '' })))).toBe('accepted')
  expect(pathOf(readForm(form({}).replace('"Product Knowledge Quiz"', '"\\ud83d"')))).toBe('accepted')
})

test.each(['1e400', '-0', '12345678901234567890', '1E-999', '0.1000000000000000055'])(
  'the score %s is a number',
  (number) => {
    const text = submission({}).replaceAll('"score":80', `"score":${number}`)
    expect(pathOf(readSubmission(text))).toBe('accepted')
  },
)

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
  test.each([
    ['a', 'accepted'],
    ['x'.repeat(100), 'accepted'],
    ['\ud83d\udd11'.repeat(100), 'accepted'],
    ['', 'key.name'],
    ['x'.repeat(101), 'key.name'],
    ['\ud83d\udd11'.repeat(101), 'key.name'],
  ])('has a name of 1 to 100 characters: %p', (name, expected) => {
    expect(pathOf(readKey({ name }))).toBe(expected)
  })

  test.each(['ab'.repeat(31), 'AB'.repeat(32), 'xy'.repeat(32), `${'ab'.repeat(32)}\n`, ''])(
    'has no digest %p',
    (digest) => {
      expect(pathOf(readKey({ digest }))).toBe('key.digest')
    },
  )

  test.each(['expired', '', 'ACTIVE'])('has no state %p', (state) => {
    expect(pathOf(readKey({ state }))).toBe('key.state')
  })

  test('holds no half of a surrogate pair, which the scripts of Redis cannot read', () => {
    const read = readKey({ name: 'n\ud800', createdBy: '\udc00', start: '\ud800', revokedBy: '\ud800' })
    expect(read).toMatchObject({
      value: { key: { name: 'n\ufffd', createdBy: '\ufffd', start: '\ufffd', revokedBy: '\ufffd' } },
    })
  })

  test('has its moments in UTC with milliseconds', () => {
    expect(readKey({ expiresAt: '2026-03-01T11:00:00.12345+01:00' })).toMatchObject({
      value: { key: { createdAt: '2026-03-01T10:00:00.000Z', expiresAt: '2026-03-01T10:00:00.123Z' } },
    })
  })
})
