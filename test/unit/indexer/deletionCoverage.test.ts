import { DeletionCoverage } from '../../../indexer/deletionCoverage.ts'

const keptMs = 1_000
const end = (offset: number, beforeQueryMs: number) => ({ offset: BigInt(offset), beforeQueryMs })

test('a partition that is read to its end is covered up to now, however long no record comes', () => {
  const coverage = new DeletionCoverage(500, () => keptMs)
  for (const beforeQueryMs of [1_000, 1_900, 2_800]) coverage.advance(7n, end(7, beforeQueryMs))
  expect([coverage.coveredUntilMs, coverage.mayHaveMissed]).toEqual([2_800, false])
})

test('a partition under a steady flow is covered up to an earlier end that was reached', () => {
  const coverage = new DeletionCoverage(0.5, () => keptMs)
  for (let at = 1; at < 50; at++) coverage.advance(BigInt(at - 1), end(at, at * 500))
  expect([coverage.coveredUntilMs, coverage.mayHaveMissed]).toEqual([24_000, false])
})

test('a partition that was read later than Kafka keeps deletions may lack a deletion for good, also once it is read to its end', () => {
  const coverage = new DeletionCoverage(500, () => keptMs)
  coverage.advance(3n, end(7, 1_600))
  expect([coverage.coveredUntilMs, coverage.mayHaveMissed]).toEqual([0, true])
  coverage.advance(7n, end(7, 1_700))
  expect(coverage.mayHaveMissed).toBe(true)
})

test('a partition that is stuck for longer than Kafka keeps deletions may lack a deletion', () => {
  const coverage = new DeletionCoverage(500, () => keptMs)
  for (const beforeQueryMs of [600, 1_000, 1_501]) coverage.advance(3n, end(7, beforeQueryMs))
  expect(coverage.mayHaveMissed).toBe(true)
})
