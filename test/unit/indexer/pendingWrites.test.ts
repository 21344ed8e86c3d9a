import type { AssignedPartition } from '../../../indexer/assignedPartition.ts'
import { ChangeTimes } from '../../../indexer/changeTimes.ts'
import { Coverage } from '../../../indexer/coverage.ts'
import { OffsetTracker } from '../../../indexer/offsetTracker.ts'
import { type PendingMarks, PendingWrites } from '../../../indexer/pendingWrites.ts'
import { type Offset, type TeamId, teamList } from '../../../src/core/model/ids.ts'
import type { PendingMark } from '../../../src/core/stores/pendingMarks.ts'
import { heapBytes } from '../../support/heapBytes.ts'

const list = teamList('forms', 'acme' as TeamId)
const otherList = teamList('forms', 'beta' as TeamId)

const assigned = (partition: number, owner = 'we'): AssignedPartition => ({
  ...{ topic: 'forms', partition, owner, offsets: new OffsetTracker(0n as Offset), nextOffset: 0n },
  start: { position: 0n as Offset, isCommitted: true, deadLetteredBelow: 0n as Offset, coveredAtMs: 0, promisedMs: 0 },
  coverage: new Coverage(0, () => Number.POSITIVE_INFINITY),
  changeTimes: new ChangeTimes(0n, { watermarkMs: undefined, changedAtRaisedByMs: 0 }),
})

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A Redis that answers each request to mark when the test says so, and the marks it holds. */
function setting() {
  const asked: { readonly marks: readonly string[]; answer(): void; fail(): void }[] = []
  const named = ({ list: of, partition, owner }: PendingMark): string => `${of} ${partition} ${owner}`
  const settled: string[] = []
  const failing = new Set<'settle'>()
  const redis: PendingMarks = {
    markPending: (marks) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      asked.push({ marks: marks.map(named), answer: resolve, fail: () => reject(new Error('Redis is away')) })
      return promise
    },
    settlePending: async (marks) => {
      if (failing.has('settle')) throw new Error('Redis is away')
      settled.push(...marks.map(named))
    },
  }
  const pending = new PendingWrites(redis, () => 0)
  /** Whether `mark` has resolved. */
  const marking = (): (() => boolean) => {
    let isMarked = false
    pending.mark().then(
      () => {
        isMarked = true
      },
      () => undefined,
    )
    return () => isMarked
  }
  const settle = (): Promise<void> => pending.settle(pending.acknowledged())
  return { asked, settled, failing, pending, marking, settle }
}

test('the writes of each partition to a list have a mark of their own, which goes with them', async () => {
  const { asked, settled, pending, marking, settle } = setting()
  const acknowledge = pending.submit(assigned(0), list)
  pending.submit(assigned(1), list)
  marking()
  expect(asked[0]?.marks).toEqual(['forms/acme forms/0 we', 'forms/acme forms/1 we'])
  acknowledge()
  await settle()
  expect(settled).toEqual(['forms/acme forms/0 we'])
})

test('a partition that was claimed again gets a mark of the new claim, also while writes of the former are in flight', async () => {
  const { asked, settled, pending, marking, settle } = setting()
  pending.submit(assigned(0, 'former'), list)
  const acknowledge = pending.submit(assigned(0, 'present'), list)
  marking()
  expect(asked[0]?.marks).toEqual(['forms/acme forms/0 former', 'forms/acme forms/0 present'])
  acknowledge()
  await settle()
  expect(settled).toEqual(['forms/acme forms/0 present'])
})

test('a write waits for every mark that is under way, its own may be among them', async () => {
  const { asked, pending, marking } = setting()
  pending.submit(assigned(0), list)
  const first = marking()
  pending.submit(assigned(0), otherList)
  const second = marking()
  // Of a list that Redis was asked to mark, and has not marked yet.
  pending.submit(assigned(0), list)
  const third = marking()
  asked[1]?.answer()
  await turn()
  expect([first(), second(), third()]).toEqual([false, false, false])
  asked[0]?.answer()
  await turn()
  expect([first(), second(), third()]).toEqual([true, true, true])
  expect(asked).toHaveLength(2)
})

test('a write whose mark may be among those that fail is not sent', async () => {
  const { asked, pending, marking } = setting()
  pending.submit(assigned(0), list)
  marking()
  pending.submit(assigned(0), otherList)
  const second = pending.mark()
  asked[1]?.answer()
  asked[0]?.fail()
  await expect(second).rejects.toThrow('Redis is away')
})

test('a mark that fails after its writes were settled is not set any more', async () => {
  const { asked, pending, marking, settle } = setting()
  pending.submit(assigned(0), list)()
  marking()
  await settle()
  asked[0]?.fail()
  await turn()
  marking()
  expect(asked).toHaveLength(1)
})

test('writes that were settled before Redis could be asked are not marked any more', async () => {
  const { asked, pending, marking, settle } = setting()
  pending.submit(assigned(0), list)()
  await settle()
  marking()
  expect(asked).toEqual([])
})

test('a write that is submitted while marks are removed keeps its mark, also when removing them fails', async () => {
  const { asked, settled, failing, pending, marking, settle } = setting()
  pending.submit(assigned(0), list)()
  failing.add('settle')
  const settling = settle()
  pending.submit(assigned(0), list)
  await expect(settling).rejects.toThrow('Redis is away')
  failing.clear()
  marking()
  await settle()
  expect(asked.map(({ marks }) => marks)).toEqual([['forms/acme forms/0 we']])
  expect(settled).toEqual([])
})

test('a mark that failed is set again, unless it is known to be set', async () => {
  const { asked, pending, marking } = setting()
  pending.submit(assigned(0), list)
  marking()
  asked[0]?.fail()
  await turn()
  const isMarked = marking()
  expect(asked[1]?.marks).toEqual(['forms/acme forms/0 we'])
  asked[1]?.answer()
  await turn()
  expect(isMarked()).toBe(true)
  await pending.mark()
  expect(asked).toHaveLength(2)
})

test('marks that were set and removed leave nothing in memory', async () => {
  const redis = { markPending: async () => undefined, settlePending: async () => undefined }
  const pending = new PendingWrites(redis, () => 0)
  const of = assigned(0)
  const rounds = async (count: number): Promise<void> => {
    for (let each = 0; each < count; each++) {
      const acknowledge = pending.submit(of, list)
      await pending.mark()
      acknowledge()
      await pending.settle(pending.acknowledged())
    }
  }
  await rounds(1_000)
  const before = heapBytes()
  const count = 50_000
  await rounds(count)
  // An array of two is larger.
  expect((heapBytes() - before) / count).toBeLessThan(16)
})
