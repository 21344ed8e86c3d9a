/*
 * Exact means of scores. Elasticsearch adds doubles, which is exact only for integers below 2^53. So a list document also has each score's digits in base 2^24,
 * with units of 2^24, 1, 2^-24, 2^-48 and 2^-72.
 */

const partBits = 24
const partFactor = 2 ** partBits
/** `0` counts units of 2^24, `4` units of 2^-72. */
export const scoreParts = ['0', '1', '2', '3', '4'] as const
/** 2^48: scores from here on have no parts. */
export const tooLargeScore = partFactor ** 2
const fractionBits = partBits * (scoreParts.length - 2)
/** So that a mean's quotient always has more bits than a double. */
const spareBits = 128

/** JSON of the parts that are not zero: 1.5 is `{"1":1,"2":8388608}`, because 0.5 is 2^23 units of 2^-24. Cuts fractions below 2^-72. */
export function partsOfScore(score: number): string {
  const parts: string[] = []
  let rest = Math.abs(score) < tooLargeScore ? score / partFactor : 0
  for (const name of scoreParts) {
    const part = Math.trunc(rest)
    if (part !== 0) parts.push(`"${name}":${part}`)
    // Exact: a whole number is subtracted, the difference multiplied by a power of two.
    rest = (rest - part) * partFactor
  }
  return `{${parts.join()}}`
}

/** The double nearest to the mean. `sums`: of each part, as `scoreParts`. */
export function meanOfParts(sums: readonly number[], count: number): number {
  // In units of 2^-72.
  const total = sums.reduce((sum, partSum) => (sum << BigInt(partBits)) + BigInt(partSum), 0n)
  const magnitude = total < 0n ? -total : total
  const dividend = magnitude << BigInt(spareBits)
  const quotient = dividend / BigInt(count)
  // A sticky bit. `Number` rounds a quotient exactly between two doubles to the even one. With a remainder the mean is higher: a lowest bit of 1 makes `Number`
  // round up.
  const isExact = quotient * BigInt(count) === dividend
  const mean = Number(isExact ? quotient : quotient | 1n) * 2 ** -(spareBits + fractionBits)
  return total < 0n ? -mean : mean
}
