import fc from 'fast-check'
import { floorBytesPerSecond, type Reading, readSince } from '../../../../src/core/http/slowReaders.ts'

const second = 1_000
const much = 1_000_000_000

/** A client for whom more always waits, and who reads so many bytes in each second. */
function after(readEachSecond: readonly number[], before?: Reading): Reading {
  let reading = before ?? readSince(undefined, { acceptedBytes: 0, waitingBytes: much }, second)
  for (const read of readEachSecond)
    reading = readSince(reading, { acceptedBytes: reading.acceptedBytes + read, waitingBytes: much }, second)
  return reading
}
const seconds = (count: number, read: number): number[] => Array(count).fill(read)

test('a client that reads nothing is behind by the time that bytes have waited for it', () => {
  expect(after(seconds(90, 0)).behindMs).toBe(90_000)
})

test('a client that reads at the minimum rate or faster is behind by at most its longest pause', () => {
  const lumps = fc.record({ pause: fc.integer({ min: 0, max: 100 }), rate: fc.integer({ min: 1, max: 100 }) })
  fc.assert(
    fc.property(fc.array(lumps, { minLength: 1, maxLength: 20 }), (all) => {
      let [reading, longest] = [after([]), 0]
      for (const { pause, rate } of all) {
        reading = after([...seconds(pause, 0), (pause + 1) * floorBytesPerSecond * rate], reading)
        expect(reading.behindMs).toBe(0)
        longest = Math.max(longest, pause)
        expect(after(seconds(longest, 0), reading).behindMs).toBe(longest * second)
      }
    }),
  )
})

test('a client that reads below the minimum rate falls behind without bound, however its reads are spread', () => {
  const reads = fc.array(fc.integer({ min: 0, max: floorBytesPerSecond / 2 }), { minLength: 400, maxLength: 400 })
  fc.assert(fc.property(reads, (each) => expect(after(each).behindMs).toBeGreaterThanOrEqual(200_000)))
})

test('earlier reads are no credit, and a client that has read everything is not behind', () => {
  expect(after([much, ...seconds(40, 0)]).behindMs).toBe(40_000)
  const drained = readSince(after(seconds(170, 0)), { acceptedBytes: 1, waitingBytes: 0 }, second)
  expect(drained.behindMs).toBe(0)
  expect(readSince(drained, { acceptedBytes: 1, waitingBytes: 500 }, second).behindMs).toBe(0)
})
