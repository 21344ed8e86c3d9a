import { missedByRefresh } from '../../../indexer/refresh.ts'

test.each([
  ['the replica is unassigned', 4, 'yellow', 4],
  ['a copy has left the cluster since', 8, 'yellow', 4],
  ['a relocating copy has taken part where it is and where it goes to', 9, 'green', 8],
])('%s: the refresh counts', (_when, successful, status, active_shards) => {
  expect(missedByRefresh({ successful }, { status, active_shards })).toBeUndefined()
})

test.each([
  [
    'the master still counts a copy that could not be reached',
    7,
    'green',
    8,
    'only 7 of 8 active copies were refreshed',
  ],
  ['a copy has become active since, perhaps', 4, 'yellow', 5, 'only 4 of 5 active copies were refreshed'],
  ['a primary is missing', 6, 'red', 6, 'not every shard was refreshed'],
])('%s: the refresh does not count', (_when, successful, status, active_shards, problem) => {
  expect(missedByRefresh({ successful }, { status, active_shards })).toBe(problem)
})
