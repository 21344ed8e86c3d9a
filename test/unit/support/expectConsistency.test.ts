import {
  expectCommittedIsSearchable,
  expectNewestVersions,
  expectOnlyPoisonSetAside,
  expectWatermarkHolds,
  expectWatermarkOnlyGrows,
} from '../../support/expectConsistency.ts'
import type { ObservedRecord, ReplicaObserver } from '../../support/replicaObserver.ts'

const record = (offset: bigint, changes: Partial<ObservedRecord> = {}): ObservedRecord => ({
  partition: 'forms/0',
  offset,
  appendedAtMs: 1_000 + Number(offset),
  kind: 'form',
  key: 'acme/f1',
  bytes: `bytes ${offset}`,
  isPoison: false,
  version: Number(offset) + 1,
  ...changes,
})
const poison = record(2n, { isPoison: true, version: 0 })
const letter = { place: 'forms/0/2', bytes: 'bytes 2' }

/** Two versions of a form and poison; all of it committed, promised and there, but for `changes`. */
const observerOf = (changes: Partial<ReplicaObserver> = {}): ReplicaObserver => ({
  records: async () => [record(0n), record(1n), poison],
  letters: async () => [letter],
  committed: async () => new Map([['forms/0', 3n]]),
  isAllCommitted: async () => true,
  untilAllCommitted: async () => undefined,
  watermarkMs: async () => 2_000,
  searchable: async () =>
    new Map([
      ['forms/acme/f1', 2],
      ['form-details/acme/f1', 2],
    ]),
  close: async () => undefined,
  ...changes,
})
const finds = (list: number, detail: number) => ({
  searchable: async () =>
    new Map([
      ['forms/acme/f1', list],
      ['form-details/acme/f1', detail],
    ]),
})

test('a whole replica is found whole, and what was judged is counted', async () => {
  expect(await expectWatermarkHolds(observerOf())).toBe(2)
  expect(await expectCommittedIsSearchable(observerOf())).toBe(2)
  await expectNewestVersions(observerOf())
  await expectOnlyPoisonSetAside(observerOf())
})

test.each([
  ['the list document', finds(1, 2)],
  ['the detail document', finds(2, 1)],
  ['both documents', { searchable: async () => new Map<string, number>() }],
])('%s of a record that search does not find breaks the watermark and the commit', async (_what, changes) => {
  await expect(expectWatermarkHolds(observerOf(changes))).rejects.toThrow('and 2 in forms/0/1')
  await expect(expectCommittedIsSearchable(observerOf(changes))).rejects.toThrow('and 2 in forms/0/1')
  await expect(expectNewestVersions(observerOf(changes))).rejects.toThrow('deep equality')
})

test('poison that was committed and not set aside is told', async () => {
  await expect(expectCommittedIsSearchable(observerOf({ letters: async () => [] }))).rejects.toThrow('forms/0/2')
})

test('a dead letter may come twice, but neither changed nor of a good record', async () => {
  await expectOnlyPoisonSetAside(observerOf({ letters: async () => [letter, letter] }))
  const changed = { ...letter, bytes: 'others' }
  await expect(expectOnlyPoisonSetAside(observerOf({ letters: async () => [letter, changed] }))).rejects.toThrow(
    'others',
  )
  const good = { place: 'forms/0/0', bytes: 'bytes 0' }
  await expect(expectOnlyPoisonSetAside(observerOf({ letters: async () => [letter, good] }))).rejects.toThrow(
    'forms/0/0',
  )
})

test('a watermark that goes back or away is told, also when it is back at the end', async () => {
  for (const dip of [4, undefined]) {
    const values = [5, 6, dip, 7]
    const work = Promise.withResolvers<void>()
    const watermarkMs = async (): Promise<number | undefined> => {
      if (values.length === 1) work.resolve()
      return values.shift()
    }
    await expect(expectWatermarkOnlyGrows(observerOf({ watermarkMs }), work.promise)).rejects.toThrow('toBeGreaterThan')
  }
})
