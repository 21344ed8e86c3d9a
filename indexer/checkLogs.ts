import type { KafkaSource } from '../src/core/kafka/source.ts'
import { partitionName, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import type { AssignedPartition } from './assignedPartition.ts'
import type { LogAnswer, LogPrefix } from './logReplacement.ts'

type LogSource = Pick<KafkaSource, 'offsetRanges' | 'offsetsAfter' | 'forgetLeaders'>

export type QueriedPartition = TopicPartition & { readonly prefixes: readonly LogPrefix[] }

/**
 * Queries Kafka about each prefix of each partition. Returns the answers in the same order. A partition that Kafka does not have counts as empty. Rejects if a
 * topic does not exist.
 */
export async function queryLogs(source: LogSource, partitions: readonly QueriedPartition[]): Promise<LogAnswer[][]> {
  const ranges = await source.offsetRanges([...new Set(partitions.map(({ topic }) => topic))])
  const answers = partitions.map((): LogAnswer[] => [])
  const mostPrefixes = Math.max(0, ...partitions.map(({ prefixes }) => prefixes.length))
  // One query about the first prefix of every partition, and one about every second prefix.
  for (let prefixIndex = 0; prefixIndex < mostPrefixes; prefixIndex++) {
    const queries = partitions.flatMap(({ topic, partition, prefixes }) => {
      const afterMs = prefixes[prefixIndex]?.latestMs ?? Infinity
      // Without a known time, or the partition, `firstLater` is undefined.
      const isQueried = Number.isFinite(afterMs) && ranges.has(partitionName({ topic, partition }))
      return isQueried ? [{ topic, partition, afterMs }] : []
    })
    const firstLaterOffsets = await source.offsetsAfter(queries)
    partitions.forEach(({ prefixes, topic, partition }, partitionIndex) => {
      if (prefixIndex >= prefixes.length) return
      const name = partitionName({ topic, partition })
      const high = ranges.get(name)?.high ?? 0n
      answers[partitionIndex]?.push({ high, firstLater: firstLaterOffsets.get(name) })
    })
  }
  return answers
}

/** Checks the assigned partitions. Returns those whose logs count as replaced now (`ReplacementDetector`). `elapsedMs`: monotonic. */
export async function checkLogs(
  source: LogSource,
  assigned: readonly AssignedPartition[],
  elapsedMs: () => number,
): Promise<AssignedPartition[]> {
  const checks = assigned.flatMap((state) => {
    const { topic, partition, log, offsets } = state
    if (log.isReplaced) return []
    // If the log has its stored prefixes, this becomes the prefix of the next check.
    const readPrefix = log.prefixUpTo(offsets.progress().position)
    return [{ topic, partition, prefixes: log.prefixes(), readPrefix, state }]
  })
  if (checks.length === 0) return []
  // A former leader may have answered the last check.
  if (checks.some(({ state }) => state.log.isDoubted)) source.forgetLeaders()
  const answers = await queryLogs(source, checks)
  const nowMs = elapsedMs()
  return checks.flatMap(({ state, readPrefix }, index) => {
    const isReplaced = state.log.endCheck(readPrefix, answers[index] ?? [], nowMs)
    return isReplaced ? [state] : []
  })
}
