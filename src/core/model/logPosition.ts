import type { Branded, Offset } from './ids.ts'

/** Partition and offset of a document's record as one number, the order of the change feed. */
export type LogPosition = Branded<number, 'LogPosition'>

/** With 2^12 partitions, every position is below 2^52: exact in JSON, and a `long` for Elasticsearch. */
const partitionSpan = 2 ** 40
const maxPartition = 2 ** 12 - 1

/** Throws from partition 4,096 and from offset 2^40 (about 10^12) on. */
export function logPosition({
  partition,
  offset,
}: {
  readonly partition: number
  readonly offset: bigint
}): LogPosition {
  const offsetNumber = Number(offset)
  if (partition > maxPartition || offsetNumber >= partitionSpan)
    throw new Error(`partition ${partition}, offset ${offset} is beyond the largest position of the change feed`)
  return (partition * partitionSpan + offsetNumber) as LogPosition
}

export const endOfPositions = (partition: number): LogPosition => ((partition + 1) * partitionSpan) as LogPosition

export const partitionOf = (position: LogPosition): number => Math.floor(position / partitionSpan)
export const offsetOf = (position: LogPosition): Offset => BigInt(position % partitionSpan) as Offset
