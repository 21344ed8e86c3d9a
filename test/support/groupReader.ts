import type { FetchedBatch, GroupMember, GroupOptions } from '../../src/core/kafka/consumerGroup.ts'
import type { KafkaSource } from '../../src/core/kafka/source.ts'
import { partitionName, type SourceRecord, type TopicPartition } from '../../src/core/kafka/sourceRecord.ts'

/** A member of a group that keeps what it reads. */
export type GroupReader = {
  readonly member: GroupMember
  readonly records: SourceRecord[]
  /** The partitions of its newest assignment, by name; none while it has been revoked. */
  assigned(): readonly string[]
  /** Leaves the group and waits until the reader has ended. */
  close(): Promise<void>
  /** Rejects with what the member crashed with. */
  readonly ended: Promise<void>
}

export type ReaderOptions = Partial<Pick<GroupOptions, 'onBatch' | 'onBatchEnd' | 'onAssigned'>>

/**
 * Starts a member that reads every partition from the first committed offset, or 0, and takes every record, unless `options` do
 * something else.
 */
export function startGroupReader(
  source: KafkaSource,
  groupId: string,
  topics: readonly string[],
  options: ReaderOptions,
): GroupReader {
  const records: SourceRecord[] = []
  const stop = new AbortController()
  let assigned: readonly TopicPartition[] = []
  const member = source.groupMember({
    groupId,
    topics,
    onRevoked: () => {
      assigned = []
    },
    onAssigned: async (partitions) => {
      assigned = partitions
      if (options.onAssigned !== undefined) await options.onAssigned(partitions)
      else member.readFrom(await nextOffsets(source, groupId, partitions))
    },
    onBatch: options.onBatch ?? (async (batch) => takeAll(batch, records)),
    onBatchEnd: options.onBatchEnd ?? (() => undefined),
  })
  const ended = member.run(stop.signal)
  ended.catch(() => undefined)
  return {
    member,
    records,
    assigned: () => assigned.map(partitionName).toSorted(),
    ended,
    close: async () => {
      stop.abort()
      await ended.catch(() => undefined)
      await member.leave()
    },
  }
}

/** Takes every record of a batch. */
export function takeAll({ records }: FetchedBatch, into: SourceRecord[]): boolean {
  for (const record of records) into.push(record)
  return true
}

async function nextOffsets(source: KafkaSource, groupId: string, partitions: readonly TopicPartition[]) {
  const committed = await source.committedOffsets(groupId, [...new Set(partitions.map(({ topic }) => topic))])
  const positions = new Map(committed.map((each) => [partitionName(each), each.position]))
  return partitions.map((each) => ({ ...each, nextOffset: positions.get(partitionName(each)) ?? 0n }))
}
