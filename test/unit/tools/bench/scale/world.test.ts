import {
  fixedTeam,
  fixedTeamSubmissions,
  largestTeam,
  sizesOf,
  submissionRecords,
  type World,
  writesOf,
} from '../../../../../tools/bench/scale/world.ts'

const world: World = { name: 'w', submissions: 4_000, teams: 12, shards: 1, hasDetails: true }
const teamOf = (key: string): string => key.split('/')[0] ?? ''
const countBy = (values: Iterable<string>): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}

test('the fixed team has the same size everywhere, the largest a quarter, and the others share the rest evenly', () => {
  expect(sizesOf({ submissions: 10_000 })).toEqual({ [fixedTeam]: 2_000, [largestTeam]: 2_500, others: 5_500 })
  expect(sizesOf({ submissions: 1_000_000 })[fixedTeam]).toBe(fixedTeamSubmissions)
  const counts = countBy(submissionRecords(world).map(({ key }) => teamOf(key)))
  expect(counts.size).toBe(world.teams)
  expect([counts.get(fixedTeam), counts.get(largestTeam)]).toEqual([2_000, 1_000])
  expect(counts.get('team_0')).toBe(100)
})

test('submissions come in the order of created time with the teams mixed, the same at every call', () => {
  const first = () => [...submissionRecords(world).take(500)]
  expect(first()).toEqual(first())
  const times = first().map(({ createdAt }) => createdAt)
  expect(times).toEqual(times.toSorted())
  expect(countBy(first().map(({ key }) => teamOf(key))).size).toBe(world.teams)
})

test('a world with details has both kinds of documents, one without only the list of submissions', () => {
  const kindsOf = (hasDetails: boolean) =>
    Object.fromEntries(countBy(writesOf({ ...world, hasDetails }).map(({ kind }) => kind)))
  expect(kindsOf(true)).toEqual({ submissions: 4_000, 'submission-details': 4_000 })
  expect(kindsOf(false)).toEqual({ submissions: 4_000 })
})
