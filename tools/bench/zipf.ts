/** Shares of the whole that fall with the rank `n`, from 1 to `ranks`, as 1 / n^exponent: how frequent words are, how large teams. */
export function zipf(ranks: number, exponent: number) {
  const until = new Float64Array(ranks)
  let sum = 0
  for (let rank = 0; rank < ranks; rank++) {
    sum += 1 / (rank + 1) ** exponent
    until[rank] = sum
  }
  return {
    /** The rank, from 0, that holds a share of the whole: random shares find ranks as often as these occur. */
    rankAt: (share: number): number => {
      const wanted = share * sum
      let [low, high] = [0, ranks - 1]
      while (low < high) {
        const middle = (low + high) >> 1
        if ((until[middle] ?? 0) > wanted) high = middle
        else low = middle + 1
      }
      return low
    },
    /** Divides `total` things by rank; the sizes add up. */
    sizes: (total: number): number[] => {
      const ends = [...until].map((end) => Math.round((total * end) / sum))
      return ends.map((end, rank) => end - (ends[rank - 1] ?? 0))
    },
  }
}
