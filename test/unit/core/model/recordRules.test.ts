import { readAccountKeyRecord, readFormRecord } from '../../../../src/core/model/record.ts'
import { formEntity } from '../../../support/entities.ts'
import { validValues } from '../../../support/recordValues.ts'

const readForm = (form: string) => readFormRecord(Buffer.from('acme/f1'), Buffer.from(`{"revision":1,"form":${form}}`))
const readKey = (changes: Record<string, unknown>) => {
  const { key } = validValues['account-key']
  const value = JSON.stringify({ revision: 1, key: { ...key, ...changes } })
  return readAccountKeyRecord(Buffer.from('acme/e1'), Buffer.from(value))
}
const form = (changes: Record<string, unknown>): string => JSON.stringify(formEntity({ id: 'f1', ...changes }))
const pathOf = (result: { ok: boolean; problem?: { path: string } }): string => result.problem?.path ?? 'accepted'

test('the first problem is told, and those after it are not', () => {
  expect(pathOf(readForm(form({ title: 1, scene: 'x', createdAt: '' })))).toBe('form.title')
  expect(pathOf(readForm(form({ scene: 'x', createdAt: '' })))).toBe('form.scene')
})

test('what is not served, or only text, may be nested deep and have many digits', () => {
  const secret = '['.repeat(5_000) + ']'.repeat(5_000)
  expect(pathOf(readForm(form({}).replace('{', `{"secret":${secret},`)))).toBe('accepted')
  expect(pathOf(readForm(form({ description: '['.repeat(5_000) + '7'.repeat(5_000) })))).toBe('accepted')
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
