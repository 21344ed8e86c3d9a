import fc from 'fast-check'
import { meanOfParts, partsOfScore, scoreParts } from '../../../../src/core/model/score.ts'

const view = new DataView(new ArrayBuffer(8))

/** The bits of a double without its sign. */
function bitsOf(value: number): bigint {
  view.setFloat64(0, Math.abs(value))
  return view.getBigUint64(0)
}

/** A double as a number of 2^-1074, the smallest one. */
function exactly(value: number): bigint {
  const [exponent, fraction] = [bitsOf(value) >> 52n, bitsOf(value) & ((1n << 52n) - 1n)]
  const size = exponent === 0n ? fraction : (fraction | (1n << 52n)) << (exponent - 1n)
  return value < 0 ? -size : size
}

/** The double next to a value, larger or smaller. */
function neighbour(value: number, isLarger: boolean): number {
  if (value === 0) return isLarger ? Number.MIN_VALUE : -Number.MIN_VALUE
  view.setBigUint64(0, bitsOf(value) + (isLarger === value > 0 ? 1n : -1n))
  return value < 0 ? -view.getFloat64(0) : view.getFloat64(0)
}

const size = (value: bigint): bigint => (value < 0n ? -value : value)

/** Sums of each part as Elasticsearch makes them of the stored JSON, by adding doubles. */
const sumsOf = (scores: readonly number[]): number[] => {
  const parts = scores.map((score) => JSON.parse(partsOfScore(score)) as Record<string, number>)
  return scoreParts.map((name) => parts.reduce((sum, each) => sum + (each[name] ?? 0), 0))
}

const decimal = fc
  .tuple(fc.integer({ min: -1_000_000, max: 1_000_000 }), fc.constantFrom(1, 10, 100, 1_000))
  .map(([a, b]) => a / b)
/** No digit is below 2^-72. */
const anyExact = fc.oneof(
  decimal,
  fc
    .double({ min: -(2 ** 48), max: 2 ** 48, minExcluded: true, maxExcluded: true, noNaN: true })
    .filter((value) => Math.abs(value) >= 2 ** -20),
  fc.constantFrom(0, -0, 2 ** -72, -(2 ** -72), 2 ** 48 - 2 ** -5, 0.1, 1 / 3, 2 ** 47, -1),
)

test('a mean is the double nearest to the exact mean, rounding half to even', () => {
  fc.assert(
    fc.property(fc.array(anyExact, { minLength: 1, maxLength: 50 }), (scores) => {
      const mean = meanOfParts(sumsOf(scores), scores.length)
      const count = BigInt(scores.length)
      const total = scores.reduce((sum, score) => sum + exactly(score), 0n)
      const errorOf = (value: number): bigint => size(exactly(value) * count - total)
      for (const isLarger of [true, false]) {
        const other = errorOf(neighbour(mean, isLarger))
        expect(errorOf(mean) <= other).toBe(true)
        if (errorOf(mean) === other) expect(bitsOf(mean) % 2n).toBe(0n)
      }
    }),
    { numRuns: 2_000 },
  )
})

test('many scores are added without rounding, and digits below 2^-72 are cut', () => {
  const sums = sumsOf([0.1]).map((sum) => sum * 2 ** 28)
  expect(meanOfParts(sums, 2 ** 28)).toBe(0.1)
  expect(partsOfScore(2 ** -73)).toBe('{}')
  for (const score of [2 ** 48, -1e300]) expect(partsOfScore(score)).toBe('{}')
})
