/*
 * Exact means of scores. Elasticsearch adds doubles, which is exact only for integers below 2^53. So a list document also has each score in five parts,
 * whose sums are exact: its digits in base 2^24, whose units are 2^24, 1, 2^-24, 2^-48 and 2^-72.
 */

const partBits = 24
const partFactor = 2 ** partBits
/** The names of the parts in the list document: `0` counts units of 2^24, `4` units of 2^-72. */
export const scoreParts = ['0', '1', '2', '3', '4'] as const
/** A score of at least this absolute value, 2^48, has no parts. */
export const tooLargeScore = partFactor ** 2
/** The smallest unit is 2^-72. */
const fractionBits = partBits * (scoreParts.length - 2)
/** The quotient of a mean is computed with these extra bits, so that it always has more bits than a double. */
const spareBits = 128

/** JSON of the parts of a score that are not zero. Example: 1.5 is `{"1":1,"2":8388608}`, because 0.5 is 2^23 units of 2^-24. Cuts fractions below 2^-72. */
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

/** The double nearest to the mean of `count` scores. `sums`: the sum of each part, in the order of `scoreParts`. */
export function meanOfParts(sums: readonly number[], count: number): number {
  // The sum of all scores, in units of 2^-72.
  const total = sums.reduce((sum, partSum) => (sum << BigInt(partBits)) + BigInt(partSum), 0n)
  const magnitude = total < 0n ? -total : total
  const dividend = magnitude << BigInt(spareBits)
  const quotient = dividend / BigInt(count)
  // A sticky bit. `Number` rounds a quotient that lies exactly between two doubles to the even one. With a remainder, the mean is
  // higher than this quotient: a lowest bit of 1 makes `Number` round up.
  const isExact = quotient * BigInt(count) === dividend
  const mean = Number(isExact ? quotient : quotient | 1n) * 2 ** -(spareBits + fractionBits)
  return total < 0n ? -mean : mean
}
