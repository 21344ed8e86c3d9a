import { readSubmissionRecord } from '../../../../../src/core/model/record.ts'
import { createSubmissions, largeTeam } from '../../../../../tools/bench/api/submissions.ts'

const read = ({ key, value }: { key: string; value: string }) => {
  const change = readSubmissionRecord(Buffer.from(key), Buffer.from(value))
  if (!change.ok || change.value.live === null) throw new Error(`${key} is no submission`)
  return { teamId: change.value.teamId, submittedAt: change.value.live.entity.submittedAt }
}
const first = () => [...createSubmissions().past().take(1_000)]
const records = first()

test('the same submissions at every call, as a product sends them, in the order of created time', () => {
  expect(first()).toEqual(records)
  const times = records.map((record) => read(record).submittedAt)
  expect(times).toEqual(times.toSorted())
  expect(new Set(times).size).toBeLessThan(times.length)
  expect(new Set(records.map(({ key }) => key)).size).toBe(times.length)
})

test('most belong to the large team, the others to many', () => {
  const teams = records.map((record) => read(record).teamId)
  expect(teams.filter((teamId) => teamId === largeTeam)).toHaveLength(647)
  expect(new Set(teams).size).toBe(354)
})

test('what follows is newer than all before, and of the large team', () => {
  const submissions = createSubmissions()
  const [one, two] = [read(submissions.next()), read(submissions.next())]
  expect([one.teamId, two.teamId]).toEqual([largeTeam, largeTeam])
  expect(one.submittedAt > '2026-01-01T00:00:00.000Z' && two.submittedAt > one.submittedAt).toBe(true)
})
