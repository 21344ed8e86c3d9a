import {
  addSample,
  currentLags,
  historyMs,
  type Observed,
  type Sample,
  sampleOf,
} from '../../../../indexer/status/observe.ts'

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

test('a sample sums up all partitions', () => {
  expect(sampleOf(observed(nowMs - 5_000), nowMs)).toEqual({
    atMs: nowMs,
    watermarkAgeSeconds: 2.5,
    behindRecords: 7,
    recordsPerSecond: 1.5,
    deadLetters: 3,
  })
})

test('what Kafka said long ago is not known any more; the watermark only grows older', () => {
  expect(sampleOf(observed(nowMs - 60_000), nowMs)).toEqual({
    atMs: nowMs,
    watermarkAgeSeconds: 2.5,
    behindRecords: undefined,
    recordsPerSecond: undefined,
    deadLetters: undefined,
  })
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

test('the history holds a quarter of an hour, and no more', () => {
  const samples: Sample[] = []
  const count = historyMs / 5_000
  for (let at = 0; at < 2 * count; at++) addSample(samples, { ...sampleOf(observed(nowMs), nowMs), atMs: at })
  expect(samples.map(({ atMs }) => atMs)).toEqual(Array.from({ length: count }, (_, at) => count + at))
})
