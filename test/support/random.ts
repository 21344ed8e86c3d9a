/** A seeded source of randomness (mulberry32). */
export type Random = {
  /** 0 ≤ x < 1 */
  next(): number
  below(count: number): number
  pick<T>(items: readonly T[]): T
  chance(probability: number): boolean
  shuffled<T>(items: readonly T[]): T[]
}

export function seeded(seed: number): Random {
  let state = seed
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (count: number): number => Math.floor(next() * count)
  return {
    next,
    below,
    pick: (items) => {
      const item = items[below(items.length)]
      if (item === undefined) throw new Error('nothing to pick from')
      return item
    },
    chance: (probability) => next() < probability,
    shuffled: (items) => {
      const copy = [...items]
      for (let at = copy.length - 1; at > 0; at--) {
        const other = below(at + 1)
        const [a, b] = [copy[at], copy[other]]
        if (a !== undefined && b !== undefined) [copy[at], copy[other]] = [b, a]
      }
      return copy
    },
  }
}
