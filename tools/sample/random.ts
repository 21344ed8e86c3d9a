import { hash } from 'node:crypto'

export type Random = {
  /** From 0 up to, not including, 1. */
  float(): number
  /** An integer from 0 up to, not including, `limit`. */
  below(limit: number): number
  chance(share: number): boolean
  /** `items` must not be empty. */
  pick<T>(items: readonly T[]): T
  /** An index, each as probable as its share of all weights. */
  weighted(weights: readonly number[]): number
  shuffled<T>(items: readonly T[]): T[]
  text(alphabet: string, length: number): string
}

const alphanumeric = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789'

/** The same `seed` gives the same sequence. */
export function seededRandom(seed: string): Random {
  const float = sfc32(hash('sha256', seed, 'buffer'))
  const below = (limit: number): number => Math.floor(float() * limit)
  return {
    float,
    below,
    chance: (share: number): boolean => float() < share,
    pick: <T>(items: readonly T[]) => items[below(items.length)] as T,
    weighted: (weights: readonly number[]): number => {
      let rest = float() * weights.reduce((sum, weight) => sum + weight, 0)
      return Math.max(
        weights.findIndex((weight) => {
          rest -= weight
          return rest < 0
        }),
        0,
      )
    },
    shuffled: <T>(items: readonly T[]): T[] =>
      items
        .map((item) => ({ item, sortKey: float() }))
        .sort((a, b) => a.sortKey - b.sortKey)
        .map(({ item }) => item),
    text: (alphabet: string, length: number): string => {
      let text = ''
      while (text.length < length) text += alphabet.charAt(below(alphabet.length))
      return text
    },
  }
}

/** 24 hex digits, which start with the second of creation: ids sort by time. */
export const entityId = (random: Random, createdMs: number): string =>
  Math.floor(createdMs / 1_000)
    .toString(16)
    .padStart(8, '0') + random.text('0123456789abcdef', 16)

/** For public URLs, without characters that look alike. */
export const token = (random: Random, length: number): string => random.text(alphanumeric, length)

/** Chris Doty-Humphrey's small fast counting generator. */
function sfc32(state: Buffer): () => number {
  let [a, b, c, counter] = [state.readInt32LE(0), state.readInt32LE(4), state.readInt32LE(8), state.readInt32LE(12)]
  const next = (): number => {
    const sum = (a + b + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + sum
    c |= 0
    return (sum >>> 0) / 2 ** 32
  }
  for (let round = 0; round < 12; round++) next()
  return next
}
