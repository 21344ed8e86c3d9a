import { readSubmissionRecord } from '../../../../../src/core/model/record.ts'
import { createSubmissions, teams } from '../../../../../tools/bench/indexer/submissions.ts'

const made = [...createSubmissions().past(2_000)]

test('submissions are the same at every call', () => {
  expect([...createSubmissions().past(2_000)]).toEqual(made)
})

test('they are about 4 KB each, and keep the contract', () => {
  const bytes = made.reduce((sum, { value }) => sum + Buffer.byteLength(value), 0) / made.length
  expect(bytes).toBeGreaterThan(3_800)
  expect(bytes).toBeLessThan(4_200)
  for (const { key, value } of made)
    expect(readSubmissionRecord(Buffer.from(key), Buffer.from(value))).toMatchObject({ ok: true })
})

test('no two share an id, and their teams differ in size', () => {
  expect(new Set(made.map(({ id }) => id)).size).toBe(made.length)
  const sizes = Map.groupBy(made, ({ key }) => key.split('/')[0])
  expect(sizes.size).toBeGreaterThan(teams / 2)
  expect(sizes.get('team_0')?.length).toBeGreaterThan(20 * (sizes.get('team_900')?.length ?? 0))
})

test('the next one is of the moment and the team that are named', () => {
  const { key, value, id } = createSubmissions('other').next(Date.UTC(2026, 4, 1), 'team_named')
  expect(key).toBe(`team_named/${id}`)
  expect(JSON.parse(value)).toMatchObject({ submission: { id, submittedAt: '2026-05-01T00:00:00.000Z' } })
})
