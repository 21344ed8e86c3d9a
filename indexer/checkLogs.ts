import type { KafkaSource } from '../src/core/kafka/source.ts'
import { partitionName, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import type { AssignedPartition } from './assignedPartition.ts'
import type { LogAnswer, LogPrefix } from './logReplacement.ts'

type LogSource = Pick<KafkaSource, 'offsetRanges' | 'offsetsAfter' | 'forgetLeaders'>

export type QueriedPartition = TopicPartition & { readonly prefixes: readonly LogPrefix[] }

/**
 * Queries Kafka for each prefix of each partition. Returns the answers of each partition, in the order of its prefixes. A missing partition counts as empty.
 * Rejects if a topic does not exist.
 */
export async function queryLogs(source: LogSource, partitions: readonly QueriedPartition[]): Promise<LogAnswer[][]> {
  const ranges = await source.offsetRanges([...new Set(partitions.map(({ topic }) => topic))])
  const answers = partitions.map((): LogAnswer[] => [])
  // One query for the first prefix of every partition, and one for every second prefix.
  for (let at = 0; partitions.some(({ prefixes }) => at < prefixes.length); at++) {
    const queries = partitions.flatMap(({ topic, partition, prefixes }) => {
      const afterMs = prefixes[at]?.latestMs ?? Infinity
      return Number.isFinite(afterMs) && ranges.has(partitionName({ topic, partition }))
        ? [{ topic, partition, afterMs }]
        : []
    })
    const later = await source.offsetsAfter(queries)
    partitions.forEach(({ prefixes, topic, partition }, index) => {
      const name = partitionName({ topic, partition })
      if (at < prefixes.length)
        answers[index]?.push({ high: ranges.get(name)?.high ?? 0n, firstLater: later.get(name) })
    })
  }
  return answers
}

/** Checks each log that does not count as replaced yet. Returns the partitions whose logs count as replaced now. */
export async function checkLogs(
  source: LogSource,
  assigned: readonly AssignedPartition[],
  elapsedMs: () => number,
): Promise<AssignedPartition[]> {
  const checks = assigned.flatMap((state) => {
    const { topic, partition, log, offsets } = state
    const readPrefix = log.prefixUpTo(offsets.progress().position)
    return log.isReplaced ? [] : [{ topic, partition, prefixes: log.prefixes(), readPrefix, state }]
  })
  if (checks.length === 0) return []
  if (checks.some(({ state }) => state.log.isDoubted)) source.forgetLeaders()
  const answers = await queryLogs(source, checks)
  const atMs = elapsedMs()
  return checks.flatMap(({ state, readPrefix }, index) =>
    state.log.endCheck(readPrefix, answers[index] ?? [], atMs) ? [state] : [],
  )
}
