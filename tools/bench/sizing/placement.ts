import { seededRandom } from '../../demo/random.ts'
import { zipf } from '../search/zipf.ts'

const trials = 25

/**
 * Which share of everything the fullest of so many shards holds, when each team lies in one of them and its size falls with its
 * rank `n` as 1 / n^skew: the median of several placements at random, the same at every call.
 */
export function fullestShard(teams: number, skew: number, shards: number): number {
  const shares = sharesOf(teams, skew)
  const fullest = Array.from({ length: trials }, (_, trial) => {
    const random = seededRandom(`${teams}/${skew}/${shards}/${trial}`)
    const held = new Float64Array(shards)
    for (const share of shares) {
      const shard = random.below(shards)
      held[shard] = (held[shard] ?? 0) + share
    }
    return Math.max(...held)
  })
  return fullest.toSorted((a, b) => a - b)[trials >> 1] ?? Number.NaN
}

/** Which share of everything the largest team has. */
export const largestShare = (teams: number, skew: number): number => sharesOf(teams, skew)[0] ?? Number.NaN

function sharesOf(teams: number, skew: number): number[] {
  const whole = 1_000_000_000
  return zipf(teams, skew)
    .sizes(whole)
    .map((size) => size / whole)
}
