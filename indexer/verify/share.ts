import { InvalidArgumentError } from 'commander'

/** The partitions `number` (from 0), `number + count`, … of both document topics, which one of `count` processes compares. */
export type Share = { readonly number: number; readonly count: number }

export const wholeShare: Share = { number: 0, count: 1 }

const maxShares = 1_000

/** Reads an option such as `3/8`, the fourth of eight shares. Throws commander's error for any other text. */
export function readShare(text: string): Share {
  const [, number, count] = /^(\d{1,4})\/(\d{1,4})$/.exec(text) ?? []
  const share = { number: Number(number), count: Number(count) }
  // For another text, both are NaN.
  if (!(share.number < share.count && share.count <= maxShares))
    throw new InvalidArgumentError(`must be a share of at most ${maxShares}, counted from 0: 0/8 to 7/8 for eight`)
  return share
}

export const hasPartition = ({ number, count }: Share, partition: number): boolean => partition % count === number
