import type { CommittedOffset } from '../../../../indexer/committedOffsets.ts'
import {
  type GroupSurvey,
  type PartitionSurvey,
  progressBetween,
  rebuildOf,
} from '../../../../indexer/status/groupSurvey.ts'
import { toOffset } from '../../../../src/core/model/ids.ts'

const ends = new Map([
  ['forms/0', { topic: 'forms', partition: 0, low: 10n, high: 110n }],
  ['submissions/0', { topic: 'submissions', partition: 0, low: 0n, high: 300n }],
  ['account-keys/0', { topic: 'account-keys', partition: 0, low: 0n, high: 999n }],
])
const commit = (position: number, generation: string): CommittedOffset => ({
  position: toOffset(String(position)),
  generation,
  deadLetteredBelow: toOffset('0'),
})
const topics = ['forms', 'submissions']
const next = '2-0123456789abcdef'
const rebuild = (commits: [string, CommittedOffset][], isRunning: boolean) =>
  rebuildOf(ends, new Map(commits), topics, isRunning, 1)

describe('a rebuild', () => {
  test('is there as soon as it runs', () => {
    expect(rebuild([], true)).toEqual({ isRunning: true, progress: 0 })
  })

  test('has come as far as its commits say, of the records that there are', () => {
    const commits: [string, CommittedOffset][] = [
      ['forms/0', commit(110, next)],
      ['submissions/0', commit(100, next)],
    ]
    expect(rebuild(commits, true)).toEqual({ isRunning: true, progress: 0.5 })
    expect(rebuild(commits, false)).toEqual({ isRunning: false, progress: 0.5 })
  })

  test('is over once its generation is the one that serves', () => {
    expect(rebuild([['forms/0', commit(110, '1-0123456789abcdef')]], false)).toBeUndefined()
  })
})

describe('progress between two surveys', () => {
  const survey = (...positions: bigint[]): GroupSurvey => ({
    partitions: positions.map(
      (position, partition): PartitionSurvey => ({
        topic: 'forms',
        partition,
        end: 100n,
        position,
        behindRecords: 0,
        isOwned: true,
      }),
    ),
    indexers: 1,
    deadLetters: 0,
    rebuild: undefined,
  })

  test('is what all partitions have gone on by', () => {
    expect(progressBetween(survey(5n, 10n), survey(8n, 30n))).toBe(23)
  })

  test('a partition that began again, or was added, counts nothing', () => {
    expect(progressBetween(survey(50n), survey(3n, 40n))).toBe(0)
  })
})
