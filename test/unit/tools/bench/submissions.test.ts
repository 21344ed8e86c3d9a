import { readSubmissionRecord } from '../../../../src/core/model/record.ts'
import { largeTeam, submissionsOf } from '../../../../tools/bench/api/teams.ts'
import { newestMs, submissionMaker } from '../../../../tools/bench/submissions.ts'

const sizes = { largeTeam: 600, otherTeams: 20, ofEach: 20 }
const made = [...submissionsOf(sizes)]
const read = ({ key, value }: { key: string; value: string }) => {
  const change = readSubmissionRecord(Buffer.from(key), Buffer.from(value))
  if (!change.ok || change.value.live === null) throw new Error(`${key} is no submission`)
  return { teamId: change.value.teamId, submittedAt: change.value.live.entity.submittedAt }
}

test('the same submissions at every call, as a product sends them, in the order of created time', () => {
  expect([...submissionsOf(sizes)]).toEqual(made)
  const times = made.map((record) => read(record).submittedAt)
  expect(times).toEqual(times.toSorted())
  expect(new Set(times).size).toBeLessThan(times.length)
  expect(new Set(made.map(({ key }) => key)).size).toBe(times.length)
})

test.each([
  [false, 3_000],
  [true, 4_000],
])('with essays: %s, they are about %i bytes each, and keep the contract', (hasEssays, expected) => {
  const make = submissionMaker('bytes', hasEssays)
  const records = Array.from({ length: 1_000 }, (_, at) => make('team', newestMs + at))
  for (const record of records) expect(read(record).teamId).toBe('team')
  const bytes = records.reduce((sum, { value }) => sum + Buffer.byteLength(value), 0) / records.length
  expect(Math.abs(bytes - expected)).toBeLessThan(250)
})

test('every team has as many as were wanted', () => {
  const counts = Object.entries(Object.groupBy(made, (record) => read(record).teamId))
  const others = Array.from({ length: sizes.otherTeams }, (_, at) => [`team_${at}`, sizes.ofEach])
  expect(new Map(counts.map(([team, own = []]) => [team, own.length]))).toEqual(
    new Map([[largeTeam, sizes.largeTeam], ...(others as [string, number][])]),
  )
})

test('a submission is made for its team and moment; one that changes keeps its id', () => {
  const make = submissionMaker('changes')
  const first = make('team', newestMs)
  const changed = make('team', newestMs + 1_000, 2, first.id)
  expect(changed.key).toBe(`team/${first.id}`)
  expect(JSON.parse(changed.value)).toMatchObject({
    revision: 2,
    submission: { id: first.id, submittedAt: '2026-01-01T00:00:01.000Z' },
  })
})
