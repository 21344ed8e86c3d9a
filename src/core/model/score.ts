/*
 * Means of scores, exact to the last digit. Elasticsearch adds doubles, which is exact only for integers below 2^53. So a score is stored
 * in parts too: integers below 2^24, each of which counts 2^24 times as much as the next, from 2^47 down to 2^-72.
 */

const partBits = 24
const partFactor = 2 ** partBits
/** The names of the parts in the list document, from the largest to the smallest. */
export const scoreParts = ['0', '1', '2', '3', '4'] as const
/** From here on a score has no parts. */
export const tooLargeScore = partFactor ** 2
/** One of the smallest part is 2^-72. */
const fractionBits = partBits * (scoreParts.length - 2)

/** The parts of a score that are not zero, as JSON; what is below 2^-72 is cut. */
export function partsOfScore(score: number): string {
  const parts: string[] = []
  let rest = Math.abs(score) < tooLargeScore ? score / partFactor : 0
  for (const name of scoreParts) {
    const part = Math.trunc(rest)
    if (part !== 0) parts.push(`"${name}":${part}`)
    // Exact: only whole parts are taken away, and the factor is a power of two.
    rest = (rest - part) * partFactor
  }
  return `{${parts.join()}}`
}

/** The double nearest to the mean of `count` scores, of which `sums` are the sums of each part. */
export function meanOfParts(sums: readonly number[], count: number): number {
  const total = sums.reduce((sum, each) => (sum << BigInt(partBits)) + BigInt(each), 0n)
  const size = total < 0n ? -total : total
  const dividend = size << BigInt(spareBits)
  const quotient = dividend / BigInt(count)
  // A rest decides between two doubles only if the bits before it are exactly between them.
  const isExact = quotient * BigInt(count) === dividend
  const mean = Number(isExact ? quotient : quotient | 1n) * 2 ** -(spareBits + fractionBits)
  return total < 0n ? -mean : mean
}

/** So many more bits that the quotient has more than a double holds, whatever it is divided by. */
const spareBits = 128
