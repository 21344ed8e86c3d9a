import { currentLags, type Observed } from '../../../../indexer/status/observe.ts'

const nowMs = 1_000_000
const partition = { topic: 'forms', position: 5n, isOwned: true }
const observed = (groupAtMs: number): Observed => ({
  group: {
    atMs: groupAtMs,
    value: {
      partitions: [
        { ...partition, partition: 0, behindRecords: 5 },
        { ...partition, partition: 1, behindRecords: 2 },
      ],
      indexers: 1,
      deadLetters: 3,
      rebuild: undefined,
      recordsPerSecond: 1.5,
    },
  },
  watermarkMs: nowMs - 2_500,
  marks: new Map(),
  redisMemory: undefined,
  indices: undefined,
})

test('the lag of every partition grows while Redis, or whoever should read it, is away', () => {
  const marks = new Map([['forms/0', nowMs - 20_000]])
  const lagsAt = (groupAtMs: number): unknown[] =>
    currentLags({ ...observed(groupAtMs), marks }, groupAtMs + 2_000).map(({ behindRecords, behindSeconds }) => [
      behindRecords,
      behindSeconds,
    ])
  expect(lagsAt(nowMs)).toEqual([
    [5, 20],
    [2, undefined],
  ])
  expect(lagsAt(nowMs + 30_000)[0]).toEqual([5, 50])
})

test('a partition at its end is not behind, and nothing is told of what Kafka said long ago', () => {
  const { group, ...others } = observed(nowMs)
  if (group === undefined) throw new Error('there is no survey')
  const partitions = [{ ...partition, partition: 0, behindRecords: 0, isOwned: false }]
  const atEnd = { ...others, group: { ...group, value: { ...group.value, partitions } } }
  expect(currentLags(atEnd, nowMs).map(({ behindSeconds }) => behindSeconds)).toEqual([0])
  expect(currentLags(atEnd, nowMs + 60_000)).toEqual([])
})
