import type { GroupOptions } from '../../src/core/kafka/consumerGroup.ts'
import type { KafkaSource } from '../../src/core/kafka/source.ts'
import { partitionName, type SourceRecord, type TopicPartition } from '../../src/core/kafka/sourceRecord.ts'

export type GroupReader = ReturnType<typeof startGroupReader>

export type ReaderOptions = Partial<Pick<GroupOptions, 'onBatch' | 'onBatchEnd' | 'onAssigned'>>

/** Starts a group member that collects every record of every partition from the first committed offset, or 0; `options` replace callbacks. */
export function startGroupReader(
  source: KafkaSource,
  groupId: string,
  topics: readonly string[],
  options: ReaderOptions,
) {
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
    onBatch:
      options.onBatch ??
      (async (batch) => {
        for (const record of batch.records) records.push(record)
        return true
      }),
    onBatchEnd: options.onBatchEnd ?? (() => undefined),
  })
  const ended = member.run(stop.signal)
  ended.catch(() => undefined)
  return {
    member,
    records,
    /** The names of the assigned partitions; none after a revocation. */
    assigned: () => assigned.map(partitionName).toSorted(),
    /** Rejects with the error of a crash. */
    ended,
    /** Leaves the group and waits until the reader has ended. */
    close: async (): Promise<void> => {
      stop.abort()
      await ended.catch(() => undefined)
      await member.leave()
    },
  }
}

async function nextOffsets(source: KafkaSource, groupId: string, partitions: readonly TopicPartition[]) {
  const committed = await source.committedOffsets(groupId, [...new Set(partitions.map(({ topic }) => topic))])
  const positions = new Map(committed.map((commit) => [partitionName(commit), commit.position]))
  return partitions.map((partition) => ({ ...partition, nextOffset: positions.get(partitionName(partition)) ?? 0n }))
}
