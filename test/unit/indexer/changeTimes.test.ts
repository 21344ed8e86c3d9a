import fc from 'fast-check'
import { assignPartition } from '../../../indexer/assignedPartition.ts'
import { ChangeTimes } from '../../../indexer/changeTimes.ts'
import { decideWatermark } from '../../../indexer/decideWatermark.ts'
import { unreadLog } from '../../../indexer/readLog.ts'
import type { Offset } from '../../../src/core/model/ids.ts'

const at = (offset: number | bigint): Offset => BigInt(offset) as Offset
const promised = { watermarkMs: 0, changedAtRaisedByMs: 0 }

test.each([
  ['with clocks that agree: the append time', 0n, promised, [100, 110, 110, 125], [100, 110, 110, 125], 0],
  ['not before the record in front of it, whose leader had another clock', 0n, promised, [100, 98], [100, 100], 2],
  ['not before the last watermark of a former owner', 0n, { ...promised, watermarkMs: 500 }, [450], [500], 50],
  [
    'of a lost generation: raised by the greatest distance that was ever needed',
    ...([2n, { watermarkMs: 500, changedAtRaisedByMs: 30 }, [100, 105, 490, 510], [130, 135, 500, 510], 10] as const),
  ],
])('the time of a change is, %s', (_what, readBefore, claimed, appended, changed, raisedByMs) => {
  const times = new ChangeTimes(readBefore, claimed)
  expect(appended.map((appendedAtMs, offset) => times.next(BigInt(offset), appendedAtMs))).toEqual(changed)
  expect(times.changedAtRaisedByMs).toBe(raisedByMs)
})

type Commit = { readonly position: Offset; readonly promisedMs: number }

/** An owner that begins at a commit. */
const ownerFrom = (commit: Commit, claimed: typeof promised) => {
  const start = { ...commit, deadLetteredBelow: commit.position, coveredAtMs: 1, log: unreadLog }
  return assignPartition({ topic: 'forms', partition: 0 }, start, { owner: 'we', ...claimed }, () => 1)
}

test.each([
  ['behind: the time of the first record that is not', 2, 1, 2n, 6_000],
  ['at the end: when it was asked for, less what clocks may differ', 2, 2, 2n, 89_000],
  ['beyond that end', 2, 2, 1n, 89_000],
  ['records ahead that are not fetched yet: the time of the last one', 2, 2, 3n, 6_000],
  ['no end known', 2, 2, undefined, 6_000],
  ['nothing processed', 0, 0, 1n, undefined],
])('everything appended before the watermark is processed: %s', (_when, read, processed, high, watermarkMs) => {
  const owner = ownerFrom({ position: at(0), promisedMs: 0 }, promised)
  const marks = [5_000, 6_000].slice(0, read).map((ms, offset) => owner.offsets.track(at(offset), ms))
  for (const mark of marks.slice(0, processed)) mark()
  expect(decideWatermark(owner, high, 90_000, 1n).watermarkMs).toBe(watermarkMs)
})

type Written = { readonly offset: bigint; changedAtMs: number; isVisible: boolean }

/**
 * One partition, its indexers, and a reader of its watermark. Every clock reads whatever it likes. An owner of the partition reads,
 * finishes and publishes records; a new owner begins at the commit, and Redis may have lost what it knew of the watermark.
 */
class Partition {
  readonly #appended: number[] = []
  readonly #documents = new Map<bigint, Written>()
  #publishedMs = -1
  /** The greatest watermark that Redis knows of. */
  #knownMs = -1
  #committed: Commit = { position: at(0), promisedMs: 0 }
  #changedAtRaisedByMs = 0
  /** Writes in flight, also those of former owners. */
  readonly #unfinished: (() => void)[] = []
  #owner = this.#claim()
  readonly problems: string[] = []

  #claim() {
    return ownerFrom(this.#committed, { watermarkMs: this.#knownMs, changedAtRaisedByMs: this.#changedAtRaisedByMs })
  }

  append(appendedAtMs: number): void {
    this.#appended.push(appendedAtMs)
  }

  read(): void {
    const { offsets, changeTimes, nextOffset } = this.#owner
    const appendedAtMs = this.#appended[Number(nextOffset)]
    if (appendedAtMs === undefined) return
    const changedAtMs = changeTimes.next(nextOffset, appendedAtMs)
    const markProcessed = offsets.track(at(nextOffset), appendedAtMs)
    this.#unfinished.push(() => {
      if (!this.#documents.has(nextOffset))
        this.#documents.set(nextOffset, { offset: nextOffset, changedAtMs, isVisible: false })
      markProcessed()
    })
    this.#owner.nextOffset = nextOffset + 1n
  }

  finish(which: number): void {
    this.#unfinished.splice(which % Math.max(1, this.#unfinished.length), 1)[0]?.()
  }

  /** One round: end offset, decision, [records go on], refresh, commit, publication. */
  publish(clockMs: number, meanwhile: () => void): void {
    const owner = this.#owner
    const readBefore = owner.offsets.progress().position
    const end = BigInt(this.#appended.length)
    meanwhile()
    const { position, promisedMs, watermarkMs = -1 } = decideWatermark(owner, end, clockMs, readBefore)
    this.#changedAtRaisedByMs = Math.max(this.#changedAtRaisedByMs, owner.changeTimes.changedAtRaisedByMs)
    meanwhile()
    this.#refresh()
    meanwhile()
    // Kafka refuses the commit, and Redis the watermark, of an owner that was replaced.
    if (this.#owner !== owner) return
    this.#committed = { position, promisedMs }
    owner.committed = { ...this.#committed, isReplaced: false }
    if (watermarkMs > promisedMs) return
    this.#publishedMs = Math.max(this.#publishedMs, watermarkMs)
    this.#knownMs = Math.max(this.#knownMs, watermarkMs)
  }

  loseWatermark(): void {
    this.#knownMs = -1
  }

  takeOver(): void {
    this.#owner = this.#claim()
  }

  #refresh(): void {
    for (const each of this.#documents.values()) {
      if (!each.isVisible && each.changedAtMs < this.#publishedMs)
        this.problems.push(`${each.offset} appears at ${each.changedAtMs}, below the watermark ${this.#publishedMs}`)
      each.isVisible = true
    }
  }
}

const time = fc.integer({ min: 0, max: 20_000 })
const small = fc.oneof(
  fc.record({ kind: fc.constant('append' as const), ms: time }),
  fc.record({ kind: fc.constant('read' as const), ms: fc.constant(0) }),
  fc.record({ kind: fc.constant('finish' as const), ms: fc.nat(5) }),
)
const step = fc.oneof(
  { weight: 6, arbitrary: small },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('publish' as const), ms: time, meanwhile: fc.array(small) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('takeOver', 'loseWatermark'), ms: fc.constant(0) }) },
)

test('no record becomes visible below a watermark that was published before, whatever every clock reads', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
      const partition = new Partition()
      const run = (each: (typeof steps)[number]): void => {
        const meanwhile = each.kind === 'publish' ? [...each.meanwhile] : []
        if (each.kind !== 'publish') partition[each.kind](each.ms)
        else
          partition.publish(each.ms, () => {
            for (const next of meanwhile.splice(0, 2)) run(next)
          })
      }
      for (const each of steps) run(each)
      expect(partition.problems).toEqual([])
    }),
    { numRuns: 2_000 },
  )
})
