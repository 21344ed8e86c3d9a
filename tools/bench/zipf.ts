/** Zipf's law for the frequencies of words and the sizes of teams: the share of rank `n`, from 1 to `ranks`, is proportional to 1 / n^exponent. */
export function zipf(ranks: number, exponent: number) {
  const until = new Float64Array(ranks)
  let sum = 0
  for (let rank = 0; rank < ranks; rank++) {
    sum += 1 / (rank + 1) ** exponent
    until[rank] = sum
  }
  return {
    /** The rank, from 0, at a cumulative share: a random share gives each rank by its frequency. */
    rankAt: (share: number): number => {
      const target = share * sum
      let low = 0
      let high = ranks - 1
      while (low < high) {
        const middle = (low + high) >> 1
        if ((until[middle] ?? 0) > target) high = middle
        else low = middle + 1
      }
      return low
    },
    /** Divides `total` items by rank. */
    sizes: (total: number): number[] => {
      const ends = [...until].map((end) => Math.round((total * end) / sum))
      return ends.map((end, rank) => end - (ends[rank - 1] ?? 0))
    },
  }
}
