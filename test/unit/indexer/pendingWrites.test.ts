import fc from 'fast-check'
import { assignPartition } from '../../../indexer/assignedPartition.ts'
import { PendingWrites } from '../../../indexer/pendingWrites.ts'
import { unreadLog } from '../../../indexer/readLog.ts'
import { partitionName } from '../../../src/core/kafka/sourceRecord.ts'
import { type Offset, type TeamId, teamList } from '../../../src/core/model/ids.ts'
import type { PendingMark } from '../../../src/core/stores/pendingMarks.ts'
import { heapBytes } from '../../support/heapBytes.ts'

const lists = ['acme', 'beta'].map((team) => teamList('forms', team as TeamId))
const start = { position: 0n as Offset, deadLetteredBelow: 0n as Offset, coveredAtMs: 0, promisedMs: 0, log: unreadLog }
/** Two partitions; the first one is claimed twice. */
const assignments = [
  [0, 'former'],
  [0, 'present'],
  [1, 'present'],
].map(([partition, owner]) => {
  const claim = { owner: String(owner), watermarkMs: undefined, changedAtRaisedByMs: 0 }
  return assignPartition({ topic: 'forms', partition: Number(partition) }, start, claim, () => 1)
})
const named = ({ list, partition, owner }: PendingMark): string => `${list} ${partition} ${owner}`
const places = assignments.flatMap((assigned) => lists.map((list) => ({ assigned, list })))

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** The marks that Redis holds. It answers the requests in their order, when the history says so; one that fails may have been done. */
class Marks {
  readonly held = new Set<string>()
  readonly #asked: ((isAnswered: boolean, isDone: boolean) => void)[] = []
  readonly runId = (): string => 'run'
  readonly markPending = (marks: readonly PendingMark[]): Promise<void> =>
    this.#ask(() => marks.map((each) => this.held.add(named(each))))
  readonly unmarkPending = (marks: readonly PendingMark[]): Promise<void> =>
    this.#ask(() => marks.map((each) => this.held.delete(named(each))))

  #ask(act: () => unknown): Promise<void> {
    return new Promise((resolve, reject) =>
      this.#asked.push((isAnswered, isDone) => {
        if (isDone) act()
        if (isAnswered) resolve()
        else reject(new Error('Redis is away'))
      }),
    )
  }

  async answer(isAnswered: boolean, isDone = isAnswered): Promise<void> {
    this.#asked.shift()?.(isAnswered, isDone)
    await turn()
  }
}

/** Writes, and a Redis that hears of them. */
class Model {
  readonly redis = new Marks()
  readonly #pending = new PendingWrites(this.redis, () => 0)
  readonly #inFlight: { readonly mark: string; readonly acknowledge: () => void; isSent: boolean }[] = []

  submit(which: number): void {
    const { assigned, list } = places[which % places.length] ?? ({} as never)
    const mark = named({ list, owner: assigned.owner, partition: partitionName(assigned) })
    this.#inFlight.push({ mark, acknowledge: this.#pending.submit(assigned, list), isSent: false })
  }

  acknowledge(which: number): void {
    for (const { acknowledge } of this.#inFlight.splice(which, 1)) acknowledge()
  }

  mark(): void {
    const submitted = [...this.#inFlight]
    const send = (): void => {
      for (const each of submitted) each.isSent = true
    }
    this.#pending.mark().then(send, () => undefined)
  }

  unmark(): void {
    this.#pending.unmark(this.#pending.acknowledged()).catch(() => undefined)
  }

  unmarked(): string[] {
    return this.#inFlight.flatMap(({ mark, isSent }) => (isSent && !this.redis.held.has(mark) ? [mark] : []))
  }

  /** Acknowledges everything. Redis answers whatever it is asked from now on. */
  async end(): Promise<void> {
    while (this.#inFlight.length > 0) this.acknowledge(0)
    for (let round = 0; round < 100; round++) await this.redis.answer(true)
    for (const step of ['mark', 'unmark'] as const) {
      this[step]()
      await this.redis.answer(true)
    }
  }
}

const steps = fc.array(
  fc.tuple(fc.constantFrom('submit', 'acknowledge', 'mark', 'unmark', 'take', 'refuse', 'lose'), fc.nat(9)),
  { maxLength: 60, size: 'max' },
)

test('whatever Redis refuses or answers late, a write is marked from when it may be sent until it is acknowledged, and no mark outlives its writes', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const model = new Model()
      for (const [step, which] of all) {
        if (step === 'take') await model.redis.answer(true)
        else if (step === 'refuse' || step === 'lose') await model.redis.answer(false, step === 'lose')
        else model[step](which)
        await turn()
        expect(model.unmarked()).toEqual([])
      }
      await model.end()
      expect([...model.redis.held]).toEqual([])
    }),
    { numRuns: 500 },
  )
})

test('another run of Redis, which may have lost marks, gets all of them again; so does one that has lost a claim', async () => {
  let run = 'one'
  const marked: string[] = []
  const markPending = async (marks: readonly PendingMark[]): Promise<void> => void marked.push(...marks.map(named))
  const pending = new PendingWrites({ runId: () => run, markPending, unmarkPending: async () => undefined }, () => 0)
  const marksAfter = async (): Promise<number> => pending.mark().then(() => marked.length)
  for (const { assigned, list } of places.slice(0, 2)) pending.submit(assigned, list)
  expect([await marksAfter(), await marksAfter()]).toEqual([2, 2])
  run = 'two'
  expect([await marksAfter(), await marksAfter()]).toEqual([4, 4])
  pending.markAllAgain()
  expect([await marksAfter(), await marksAfter()]).toEqual([6, 6])
})

test('marks that were set and removed leave nothing in memory', async () => {
  const pending = new PendingWrites(
    { runId: () => 'run', markPending: async () => undefined, unmarkPending: async () => undefined },
    () => 0,
  )
  const rounds = async (count: number): Promise<void> => {
    for (let each = 0; each < count; each++) {
      const { assigned, list } = places[0] ?? ({} as never)
      const acknowledge = pending.submit(assigned, list)
      await pending.mark()
      acknowledge()
      await pending.unmark(pending.acknowledged())
    }
  }
  await rounds(1_000)
  const before = heapBytes()
  const count = 50_000
  await rounds(count)
  // An array of two is larger.
  expect((heapBytes() - before) / count).toBeLessThan(16)
})
