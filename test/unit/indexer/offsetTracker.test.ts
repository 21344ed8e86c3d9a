import fc from 'fast-check'
import { OffsetTracker } from '../../../indexer/offsetTracker.ts'
import type { Offset } from '../../../src/core/model/ids.ts'
import { heapBytes } from '../../support/heapBytes.ts'

const at = (offset: number | bigint): Offset => BigInt(offset) as Offset

test('the position passes over offsets that hold no record, once the records before them are settled', () => {
  const offsets = new OffsetTracker(at(4))
  const settle = offsets.track(at(4), 40)
  offsets.endBatch(at(9))
  expect(offsets.progress().position).toBe(4n)
  settle()
  expect(offsets.progress()).toEqual({ position: 10n, oldestUnprocessedAtMs: undefined, processedAtMs: 40 })
})

/** A partition as a list of records, beside the offsets that is to tell the same. */
class Model {
  readonly offsets: OffsetTracker
  readonly #start: Offset
  readonly #records: { offset: bigint; settle: () => number; isSettled: boolean }[] = []
  #next: bigint

  constructor(start: number) {
    this.#next = BigInt(start)
    this.#start = at(start)
    this.offsets = new OffsetTracker(this.#start)
  }

  fetch(gap: number): void {
    const offset = this.#next + BigInt(gap)
    this.#records.push({ offset, settle: this.offsets.track(at(offset), Number(offset)), isSettled: false })
    this.#next = offset + 1n
  }

  settle(which: number): void {
    const record = this.#records[which % Math.max(this.#records.length, 1)]
    if (record === undefined) return
    const before = this.#passed()
    const dropped = record.settle()
    record.isSettled = true
    expect(dropped).toBe(this.#passed() - before)
  }

  /** The records of which nothing has to be kept. */
  #passed(): number {
    const first = this.#records.findIndex(({ isSettled }) => !isSettled)
    return first === -1 ? this.#records.length : first
  }

  progress(): ReturnType<OffsetTracker['progress']> {
    const passed = this.#passed()
    const last = this.#records[passed - 1]
    const next = this.#records[passed]
    return {
      position: (last === undefined ? this.#start : last.offset + 1n) as Offset,
      oldestUnprocessedAtMs: next && Number(next.offset),
      processedAtMs: last === undefined ? undefined : Number(last.offset),
    }
  }
}

const steps = fc.array(fc.tuple(fc.constantFrom('fetch', 'settle'), fc.nat(100)), { maxLength: 60, size: 'max' })

test('whatever settles in whatever order, the position is the end of the settled prefix and never goes back', () => {
  fc.assert(
    fc.property(steps, fc.nat(1_000), (all, start) => {
      const model = new Model(start)
      let last = 0n
      for (const [step, number] of all) {
        if (step === 'fetch') model.fetch(number % 4)
        else model.settle(number)
        const progress = model.offsets.progress()
        expect(progress).toEqual(model.progress())
        expect(progress.position >= last).toBe(true)
        last = progress.position
      }
    }),
  )
})

test('thousands of settled records leave the later ones in place', () => {
  const offsets = new OffsetTracker(at(0))
  const marks = Array.from({ length: 5_000 }, (_, offset) => offsets.track(at(offset), offset))
  marks.slice(0, 4_000).map((settle) => settle())
  expect(offsets.progress()).toEqual({ position: 4_000n, oldestUnprocessedAtMs: 4_000, processedAtMs: 3_999 })
  marks.slice(4_000).map((settle) => settle())
  expect(offsets.progress()).toEqual({ position: 5_000n, oldestUnprocessedAtMs: undefined, processedAtMs: 4_999 })
})

test('settled records take no memory, though nobody asks how far they are', () => {
  const offsets = new OffsetTracker(at(0))
  const settle = (from: number, to: number): void => {
    for (let offset = from; offset < to; offset++) offsets.track(at(offset), offset)()
    offsets.endBatch(at(to - 1))
  }
  settle(0, 1_000)
  const before = heapBytes()
  const count = 100_000
  settle(1_000, count)
  expect((heapBytes() - before) / count).toBeLessThan(8)
  expect(offsets.progress().position).toBe(BigInt(count))
})
