import { partitionName, type SourceRecord } from '../../src/core/kafka/sourceRecord.ts'

type Partition = { next: bigint; latestMs: number; gapMs: number }

/**
 * The lowest `changedAt` that a document of each record may have. That is the append time of the record, unless compaction may have
 * removed an equal one that was appended before it, as records may be appended twice: where offsets are missing. What was there was not
 * appended before the record in front of the first gap.
 */
export class ChangeBounds {
  readonly #partitions = new Map<string, Partition>()

  /** To be asked for every record of a partition, in the order of offsets. `from`: where its reading began. */
  next(record: Pick<SourceRecord, 'topic' | 'partition' | 'offset' | 'appendedAtMs'>, from: bigint): number {
    const name = partitionName(record)
    const partition = this.#partitions.get(name) ?? {
      next: from,
      latestMs: Number.NEGATIVE_INFINITY,
      gapMs: Number.POSITIVE_INFINITY,
    }
    this.#partitions.set(name, partition)
    if (record.offset > partition.next) partition.gapMs = Math.min(partition.gapMs, partition.latestMs)
    partition.next = record.offset + 1n
    partition.latestMs = Math.max(partition.latestMs, record.appendedAtMs)
    return Math.min(record.appendedAtMs, partition.gapMs)
  }
}
