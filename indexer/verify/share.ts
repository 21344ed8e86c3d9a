import { InvalidArgumentError } from 'commander'

/** The part of a verification that one of `count` processes compares: the partitions `number` (from 0), `number + count`, … of both document topics. */
export type Share = { readonly number: number; readonly count: number }

export const wholeShare: Share = { number: 0, count: 1 }

const maxShares = 1_000

/** Reads `3/8`: the fourth of eight shares. Throws commander's error for anything else. */
export function readShare(text: string): Share {
  const [number = Number.NaN, count = Number.NaN] = /^\d{1,4}\/\d{1,4}$/.test(text) ? text.split('/').map(Number) : []
  if (!(number < count && count <= maxShares))
    throw new InvalidArgumentError(`must be a share of at most ${maxShares}, counted from 0: 0/8 to 7/8 for eight`)
  return { number, count }
}

export const hasPartition = ({ number, count }: Share, partition: number): boolean => partition % count === number
