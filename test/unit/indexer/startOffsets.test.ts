import fc from 'fast-check'
import { notCovered } from '../../../indexer/deletionCoverage.ts'
import { type LogState, unreadLog } from '../../../indexer/logReplacement.ts'
import type { CommittedOffset, StartOffset } from '../../../indexer/startOffsets.ts'
import { commitMetadata, fetchCommittedOffsets, fetchStartOffsets } from '../../../indexer/startOffsets.ts'
import type { GenerationTag } from '../../../src/core/elasticsearch/indices.ts'
import type { KafkaSource, OffsetRange } from '../../../src/core/kafka/source.ts'
import type { Offset } from '../../../src/core/model/ids.ts'

const at = (offset: number): Offset => BigInt(offset) as Offset
const [first, second] = ['1-0123456789abcdef', '2-0123456789abcdef'] as [GenerationTag, GenerationTag]
const [createdAtMs, committedAtMs, nowMs] = [1_000, 2_000, 9_000]
/** What is committed of the log with a position. */
const logOf = (position: number): LogState => ({
  isReplaced: false,
  prefixes: [{ below: at(position), latestMs: 1_500 }],
})
const commit = (
  position: number,
  generation: string | undefined,
  deadLetteredBelow = position,
  coveredUntilMs = generation === undefined ? 0 : committedAtMs,
): CommittedOffset => ({
  position: at(position),
  generation,
  deadLetteredBelow: at(deadLetteredBelow),
  coveredUntilMs,
  log:
    generation === undefined
      ? { isReplaced: false, prefixes: [{ below: at(position), latestMs: Infinity }] }
      : logOf(position),
})

const partition = { topic: 'forms', partition: 0 }

/** What a group's commit of the only partition says. */
async function readCommit(position: Offset, metadata: string): Promise<CommittedOffset | undefined> {
  const source = { committedOffsets: async () => [{ ...partition, position, metadata }] } as unknown as KafkaSource
  return (await fetchCommittedOffsets(source, 'group', ['forms'])).get('forms/0')
}

/** Where reading the only partition starts, by the commits of the indexer and of a rebuild. */
async function startOffset(
  range: OffsetRange,
  own: CommittedOffset | undefined,
  rebuilt: CommittedOffset | undefined,
  generation: GenerationTag | undefined,
): Promise<StartOffset> {
  const commitsOf = (found: CommittedOffset | undefined) => {
    if (found === undefined) return []
    const { position, generation: named, deadLetteredBelow, coveredUntilMs, log } = found
    const metadata =
      named === undefined ? '' : commitMetadata(named as GenerationTag, deadLetteredBelow, coveredUntilMs, log)
    return [{ ...partition, position, metadata }]
  }
  const source = {
    offsetRanges: async () => new Map([['forms/0', { ...partition, ...range }]]),
    committedOffsets: async (group: string) => commitsOf(group === 'own' ? own : rebuilt),
  } as unknown as KafkaSource
  const from = {
    ...{
      topics: ['forms'],
      groupId: 'own',
      rebuildGroupId: 'rebuild',
      clock: () => nowMs,
      storedLogs: new Map(),
      logStatesOfDocuments: async () => new Map(),
    },
    generationOf: () => generation && { tag: generation, createdAtMs },
  }
  const start = (await fetchStartOffsets(source, [partition], from)).get('forms/0')
  if (start === undefined) throw new Error('no start')
  return start
}

const ends = { low: 0n, high: 100n }

test('the metadata of a commit reads back unchanged', async () => {
  expect(await readCommit(at(7), commitMetadata(first, 9n, committedAtMs, logOf(7)))).toEqual(commit(7, first, 9))
  expect(await readCommit(at(12), commitMetadata(first, 9n, committedAtMs, logOf(12)))).toEqual(commit(12, first, 12))
})

test.each(['', 'by hand', '1-0123456789abcdef nine'])(
  'a commit with the metadata %j names no generation',
  async (metadata) => {
    expect(await readCommit(at(7), metadata)).toEqual(commit(7, undefined))
  },
)

test('reading goes on at a commit that names the written generation', async () => {
  const start = { position: 40n, deadLetteredBelow: 40n, coveredUntilMs: committedAtMs, log: logOf(40) }
  expect(await startOffset(ends, commit(40, first), undefined, first)).toEqual(start)
})

test('reading of a topic without indices goes on at any commit', async () => {
  expect((await startOffset(ends, commit(40, undefined), undefined, undefined)).position).toBe(40n)
})

test('after a commit for another generation everything is read again, but no record becomes a dead letter twice', async () => {
  const start = { position: 0n, deadLetteredBelow: 40n, coveredUntilMs: createdAtMs, log: unreadLog }
  expect(await startOffset(ends, commit(40, first), undefined, second)).toEqual(start)
})

test.each([
  ['where the rebuild was', commit(40, first), commit(30, second), 30n],
  ['before it where the indexer was not so far', commit(40, first), commit(60, second), 40n],
  ['at the beginning without a commit of the indexer', undefined, commit(60, second), 0n],
  ['at the beginning after a rebuild of other indices', commit(40, first), commit(30, first), 0n],
])('after a rebuild reading goes on %s', async (_where, own, rebuilt, position) => {
  expect((await startOffset(ends, own, rebuilt, second)).position).toBe(position)
})

test.each([
  ['the topic was created anew and is shorter', { low: 0n, high: 10n }],
  ['the records at the commit are deleted', { low: 50n, high: 100n }],
])('reading starts at the beginning when %s', async (_, now) => {
  const start = await startOffset(now, commit(40, first), undefined, first)
  expect(start.position).toEqual(now.low)
})

test('an end offset below the commit counts only if no other leader has a higher one', async () => {
  const told = [{ low: 0n, high: 30n }, { low: 0n, high: 30n }, ends]
  const leaders: unknown[] = []
  const source = {
    offsetRanges: async () => new Map([['forms/0', { ...partition, ...(told.shift() ?? ends) }]]),
    committedOffsets: async () => [
      { ...partition, position: at(40), metadata: commitMetadata(first, 40n, 0, logOf(40)) },
    ],
    forgetLeaders: () => leaders.push('forgotten'),
  } as unknown as KafkaSource
  const starts = await fetchStartOffsets(source, [partition], {
    ...{
      topics: ['forms'],
      groupId: 'own',
      rebuildGroupId: undefined,
      clock: () => nowMs,
      storedLogs: new Map(),
      logStatesOfDocuments: async () => new Map(),
    },
    generationOf: () => ({ tag: first, createdAtMs }),
    patience: { ms: 10_000, signal: new AbortController().signal },
  })
  expect([starts.get('forms/0')?.position, leaders.length]).toEqual([40n, 2])
})

describe('The time up to which a generation has every record', () => {
  test.each([
    ['the time of the commit', ends, commit(40, first), undefined, first, committedAtMs],
    [
      'the time of the rebuild that has filled it',
      ends,
      commit(90, first),
      commit(30, second, 30, 3_000),
      second,
      3_000,
    ],
    ['now where nothing was appended since an old commit', ends, commit(100, first), undefined, first, nowMs],
    ['unknown once it was', ends, commit(40, first, 40, notCovered), undefined, first, notCovered],
    ['unknown also at the end', ends, commit(100, first, 100, notCovered), undefined, first, notCovered],
    ['the creation of the indices without a commit', ends, undefined, undefined, first, createdAtMs],
    ['unknown behind a gap', { low: 50n, high: 100n }, commit(40, first), undefined, first, notCovered],
  ])('is %s', async (_what, range, own, rebuilt, generation, coveredUntilMs) => {
    expect(await startOffset(range, own, rebuilt, generation)).toMatchObject({ coveredUntilMs })
  })

  test.each([
    ['now where nothing was ever appended', 0n, nowMs],
    // It may have been written and never committed.
    ['when others were committed last, where something was', 100n, committedAtMs],
  ])('of a partition without a commit, while others have one, is %s', async (_, high, expected) => {
    const ranges = [ends, { low: 0n, high }].map(
      (range, each) => [`forms/${each}`, { topic: 'forms', partition: each, ...range }] as const,
    )
    const source = {
      offsetRanges: async () => new Map(ranges),
      committedOffsets: async () => [
        { ...partition, position: at(40), metadata: commitMetadata(first, 40n, committedAtMs, logOf(40)) },
      ],
    } as unknown as KafkaSource
    const starts = await fetchStartOffsets(source, [partition, { topic: 'forms', partition: 1 }], {
      ...{
        topics: ['forms'],
        groupId: 'own',
        rebuildGroupId: undefined,
        clock: () => nowMs,
        storedLogs: new Map(),
        logStatesOfDocuments: async () => new Map(),
      },
      generationOf: () => ({ tag: first, createdAtMs }),
    })
    expect([...starts.values()].map((start) => start.coveredUntilMs)).toEqual([committedAtMs, expected])
  })
})

test('a topic that was deleted with its commits is recognised as replaced by the state stored in Redis', async () => {
  const source = {
    offsetRanges: async () => new Map([['forms/0', { ...partition, low: 0n, high: 3n }]]),
    committedOffsets: async () => [],
  } as unknown as KafkaSource
  const starts = await fetchStartOffsets(source, [partition], {
    ...{ topics: ['forms'], groupId: 'own', rebuildGroupId: undefined, clock: () => nowMs },
    storedLogs: new Map([['forms/0', '40:1500']]),
    logStatesOfDocuments: async () => new Map(),
    generationOf: () => ({ tag: first, createdAtMs }),
  })
  expect(starts.get('forms/0')).toMatchObject({ position: 0n, log: logOf(40) })
})

const someCommit = fc.option(
  fc.record({ position: fc.nat(120), generation: fc.constantFrom(first, second), more: fc.nat(20) }),
  { nil: undefined },
)

test('for any commits, reading starts within the topic and skips no record that the generation may lack', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(60), fc.nat(60), someCommit, someCommit, async (low, length, own, rebuilt) => {
      const now = { low: BigInt(low), high: BigInt(low + length) }
      const [live, other] = [own, rebuilt].map(
        (each) => each && commit(each.position, each.generation, each.position + each.more),
      )
      const { position } = await startOffset(now, live, other, second)
      const proven = [live, other].filter((each) => each?.generation === second).map((each) => each?.position ?? 0n)
      const highest = proven.reduce((max, each) => (each > max ? each : max), now.low as bigint)
      expect(position >= now.low && position <= now.high && position <= highest).toBe(true)
      expect(position <= (live?.position ?? now.low) || position === now.low).toBe(true)
    }),
  )
})
