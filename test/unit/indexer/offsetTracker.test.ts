import fc from 'fast-check'
import { OffsetTracker, type TrackedRecord } from '../../../indexer/offsetTracker.ts'
import type { Offset } from '../../../src/core/model/ids.ts'
import { heapBytes } from '../../support/heapBytes.ts'

const at = (offset: number | bigint): Offset => BigInt(offset) as Offset

test('the position skips offsets without a record, once all records before them are processed', () => {
  const offsets = new OffsetTracker(at(4))
  const entry = offsets.track(at(4), 40)
  offsets.endBatch(at(9))
  expect(offsets.progress().position).toBe(4n)
  offsets.markProcessed(entry)
  expect(offsets.progress()).toEqual({ position: 10n, oldestUnprocessedAtMs: undefined, processedAtMs: 40 })
})

/** A partition as a list of records, beside the offsets that is to tell the same. */
class Model {
  readonly offsets: OffsetTracker
  readonly #start: Offset
  readonly #records: { offset: bigint; entry: TrackedRecord; isProcessed: boolean }[] = []
  #next: bigint

  constructor(start: number) {
    this.#next = BigInt(start)
    this.#start = at(start)
    this.offsets = new OffsetTracker(this.#start)
  }

  fetch(gap: number): void {
    const offset = this.#next + BigInt(gap)
    this.#records.push({ offset, entry: this.offsets.track(at(offset), Number(offset)), isProcessed: false })
    this.#next = offset + 1n
  }

  process(which: number): void {
    const record = this.#records[which % Math.max(this.#records.length, 1)]
    if (record === undefined) return
    const before = this.#passed()
    const dropped = this.offsets.markProcessed(record.entry)
    record.isProcessed = true
    expect(dropped).toBe(this.#passed() - before)
  }

  /** The records of which nothing has to be kept. */
  #passed(): number {
    const first = this.#records.findIndex(({ isProcessed }) => !isProcessed)
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

const steps = fc.array(fc.tuple(fc.constantFrom('fetch', 'process'), fc.nat(100)), { maxLength: 60, size: 'max' })

test('for any order of processing, the position is the end of the processed prefix and never goes back', () => {
  fc.assert(
    fc.property(steps, fc.nat(1_000), (all, start) => {
      const model = new Model(start)
      let last = 0n
      for (const [step, number] of all) {
        if (step === 'fetch') model.fetch(number % 4)
        else model.process(number)
        const progress = model.offsets.progress()
        expect(progress).toEqual(model.progress())
        expect(progress.position >= last).toBe(true)
        last = progress.position
      }
    }),
  )
})

test('thousands of processed records do not disturb later ones', () => {
  const offsets = new OffsetTracker(at(0))
  const entries = Array.from({ length: 5_000 }, (_, offset) => offsets.track(at(offset), offset))
  for (const entry of entries.slice(0, 4_000)) offsets.markProcessed(entry)
  expect(offsets.progress()).toEqual({ position: 4_000n, oldestUnprocessedAtMs: 4_000, processedAtMs: 3_999 })
  for (const entry of entries.slice(4_000)) offsets.markProcessed(entry)
  expect(offsets.progress()).toEqual({ position: 5_000n, oldestUnprocessedAtMs: undefined, processedAtMs: 4_999 })
})

test('processed records take no memory, even if the position is never read', () => {
  const offsets = new OffsetTracker(at(0))
  const process = (from: number, to: number): void => {
    for (let offset = from; offset < to; offset++) offsets.markProcessed(offsets.track(at(offset), offset))
    offsets.endBatch(at(to - 1))
  }
  process(0, 1_000)
  const before = heapBytes()
  const count = 100_000
  process(1_000, count)
  expect((heapBytes() - before) / count).toBeLessThan(8)
  expect(offsets.progress().position).toBe(BigInt(count))
})
