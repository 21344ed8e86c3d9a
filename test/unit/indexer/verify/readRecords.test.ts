import { ChangeBounds } from '../../../../indexer/verify/readRecords.ts'
import type { Offset } from '../../../../src/core/model/ids.ts'

/** The bound of each record, given as [offset, append time] in one partition that begins at 0. */
function boundsOf(...records: readonly (readonly [number, number])[]): number[] {
  const bounds = new ChangeBounds(0n)
  return records.map(([offset, appendedAtMs]) => bounds.add({ offset: BigInt(offset) as Offset, appendedAtMs }))
}

test('the bound is the append time as long as no record is missing', () => {
  expect(boundsOf([0, 10], [1, 30], [2, 20])).toEqual([10, 30, 20])
})

test('an equal record may have been where offsets are missing, not before the record in front of them', () => {
  expect(boundsOf([0, 10], [1, 20], [3, 30], [4, 40], [9, 50])).toEqual([10, 20, 20, 20, 20])
})

test('nothing is known of records that are missing at the beginning', () => {
  expect(boundsOf([2, 10], [3, 20])).toEqual([Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY])
})
