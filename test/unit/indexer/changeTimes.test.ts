import fc from 'fast-check'
import { ChangeTimes } from '../../../indexer/changeTimes.ts'
import { OffsetTracker, partitionWatermark } from '../../../indexer/offsetTracker.ts'
import type { Offset } from '../../../src/core/model/ids.ts'

test('with clocks that agree, the time of a change is the append time of its record', () => {
  const times = new ChangeTimes(0n, { watermarkMs: undefined, changedAtRaisedByMs: 0 })
  times.watermarkDecided(90)
  expect([100, 110, 110, 125].map((appendedAtMs, at) => times.next(BigInt(at), appendedAtMs))).toEqual([
    100, 110, 110, 125,
  ])
  expect(times.changedAtRaisedByMs).toBe(0)
})

test('an append time that steps back, because the leader has another clock, does not lead the time of a change back', () => {
  const times = new ChangeTimes(0n, { watermarkMs: undefined, changedAtRaisedByMs: 0 })
  expect([100, 98, 103].map((appendedAtMs, at) => times.next(BigInt(at), appendedAtMs))).toEqual([100, 100, 103])
  expect(times.changedAtRaisedByMs).toBe(2)
})

test('a record below the last watermark of a former owner gets the time of that watermark', () => {
  const times = new ChangeTimes(0n, { watermarkMs: 500, changedAtRaisedByMs: 0 })
  expect(times.next(0n, 450)).toBe(500)
})

test('records of a lost generation get the greatest distance that was ever needed, newer ones the watermark', () => {
  const times = new ChangeTimes(2n, { watermarkMs: 500, changedAtRaisedByMs: 30 })
  expect([100, 105, 490, 510].map((appendedAtMs, at) => times.next(BigInt(at), appendedAtMs))).toEqual([
    130, 135, 500, 510,
  ])
  expect(times.changedAtRaisedByMs).toBe(10)
})

type Written = { readonly offset: bigint; changedAtMs: number; isVisible: boolean }

/**
 * One partition, its indexers, and a reader of its watermark. Every clock reads whatever it likes. An owner of the partition reads,
 * finishes and publishes records; a new owner begins at the committed offset.
 */
class Partition {
  readonly #appended: number[] = []
  readonly #documents = new Map<bigint, Written>()
  #publishedMs = -1
  #committed = 0n
  #changedAtRaisedByMs = 0
  /** Writes in flight, also those of former owners. */
  readonly #unfinished: (() => void)[] = []
  #owner = this.#claim()
  readonly problems: string[] = []

  #claim() {
    const claim = {
      watermarkMs: this.#publishedMs < 0 ? undefined : this.#publishedMs,
      changedAtRaisedByMs: this.#changedAtRaisedByMs,
    }
    const offsets = new OffsetTracker(this.#committed as Offset)
    return {
      offsets,
      times: new ChangeTimes(this.#committed, claim),
      next: this.#committed,
    }
  }

  append(appendedAtMs: number): void {
    this.#appended.push(appendedAtMs)
  }

  read(): void {
    const { offsets, times, next } = this.#owner
    const appendedAtMs = this.#appended[Number(next)]
    if (appendedAtMs === undefined) return
    const changedAtMs = times.next(next, appendedAtMs)
    const markProcessed = offsets.track(next as Offset, changedAtMs)
    this.#unfinished.push(() => {
      if (!this.#documents.has(next)) this.#documents.set(next, { offset: next, changedAtMs, isVisible: false })
      markProcessed()
    })
    this.#owner.next = next + 1n
  }

  finish(which: number): void {
    this.#unfinished.splice(which % Math.max(1, this.#unfinished.length), 1)[0]?.()
  }

  /** One round: end offset, decision, [records go on], refresh, commit, publication. */
  publish(clockMs: number, meanwhile: () => void): void {
    const owner = this.#owner
    const end = BigInt(this.#appended.length)
    meanwhile()
    const progress = owner.offsets.progress()
    const watermarkMs = partitionWatermark(progress, { offset: end, askedAtMs: clockMs }, 1_000)
    if (watermarkMs !== undefined) owner.times.watermarkDecided(watermarkMs)
    this.#changedAtRaisedByMs = Math.max(this.#changedAtRaisedByMs, owner.times.changedAtRaisedByMs)
    meanwhile()
    this.#refresh()
    meanwhile()
    // Kafka refuses the commit, and Redis the watermark, of an owner that was replaced.
    if (this.#owner !== owner) return
    this.#committed = progress.position
    this.#publishedMs = Math.max(this.#publishedMs, watermarkMs ?? -1)
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
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('takeOver' as const), ms: fc.constant(0) }) },
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
