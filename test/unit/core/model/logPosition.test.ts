import fc from 'fast-check'
import { logPosition, offsetOf, partitionOf } from '../../../../src/core/model/logPosition.ts'

const [lastPartition, lastOffset] = [4_095, 2n ** 40n - 1n]
const place = fc.record({
  partition: fc.nat(lastPartition),
  offset: fc.oneof(fc.bigInt({ min: 0n, max: lastOffset }), fc.constantFrom(0n, 1n, lastOffset)),
})

test('positions sort by partition, then offset, and both can be read from one', () => {
  fc.assert(
    fc.property(place, place, (one, other) => {
      const [first, second] = [one, other].map(logPosition)
      const isBefore = one.partition === other.partition ? one.offset < other.offset : one.partition < other.partition
      expect(Number(first) < Number(second)).toBe(isBefore)
      expect([partitionOf(logPosition(one)), offsetOf(logPosition(one))]).toEqual([one.partition, one.offset])
    }),
  )
})

test('every position is exact in JSON, and a larger one is an error', () => {
  expect(logPosition({ partition: 0, offset: 0n })).toBe(0)
  expect(logPosition({ partition: 3, offset: 7n })).toBe(3 * 2 ** 40 + 7)
  expect(logPosition({ partition: lastPartition, offset: lastOffset })).toBe(2 ** 52 - 1)
  const beyond = (partition: number, offset: bigint) => () => logPosition({ partition, offset })
  const rule = 'is beyond the largest position of the change feed'
  expect(beyond(lastPartition + 1, 5n)).toThrow(`partition 4096, offset 5 ${rule}`)
  expect(beyond(0, lastOffset + 1n)).toThrow(`partition 0, offset 1099511627776 ${rule}`)
})
