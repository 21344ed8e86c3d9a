import type { KafkaSource } from '../src/core/kafka/source.ts'
import { partitionName, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import type { AssignedPartition } from './assignedPartition.ts'
import type { LogAnswer, LogPrefix } from './readLog.ts'

type AskedSource = Pick<KafkaSource, 'offsetRanges' | 'offsetsAfter' | 'forgetLeaders'>

/** A partition, and prefixes of the log that was read from it. */
export type ReadPartition = TopicPartition & { readonly prefixes: readonly LogPrefix[] }

/** What Kafka answers about each prefix of each partition, in their order. A partition that does not exist is empty. Rejects while a topic is missing. */
export async function askOfLogs(source: AskedSource, partitions: readonly ReadPartition[]): Promise<LogAnswer[][]> {
  const ranges = await source.offsetRanges([...new Set(partitions.map(({ topic }) => topic))])
  const answers = partitions.map((): LogAnswer[] => [])
  for (let at = 0; partitions.some(({ prefixes }) => at < prefixes.length); at++) {
    const known = partitions.flatMap(({ topic, partition, prefixes }) => {
      const afterMs = prefixes[at]?.latestMs ?? Infinity
      return Number.isFinite(afterMs) && ranges.has(partitionName({ topic, partition }))
        ? [{ topic, partition, afterMs }]
        : []
    })
    const later = await source.offsetsAfter(known)
    partitions.forEach(({ prefixes, ...of }, index) => {
      const name = partitionName(of)
      if (at < prefixes.length)
        answers[index]?.push({ high: ranges.get(name)?.high ?? 0n, firstLater: later.get(name) })
    })
  }
  return answers
}

/** One check of each log that may still be the one that was read (`ReadLog`). Returns the partitions whose logs count as others from now on. */
export async function checkLogs(
  source: AskedSource,
  assigned: readonly AssignedPartition[],
  elapsedMs: () => number,
): Promise<AssignedPartition[]> {
  const asked = assigned.flatMap((of) => {
    const { topic, partition, log, offsets } = of
    const read = log.upTo(offsets.progress().position)
    return log.isReplaced ? [] : [{ topic, partition, prefixes: log.prefixes(), read, of }]
  })
  if (asked.length === 0) return []
  if (asked.some(({ of }) => of.log.isDoubted)) source.forgetLeaders()
  const answers = await askOfLogs(source, asked)
  const atMs = elapsedMs()
  return asked.flatMap(({ of, read }, index) => (of.log.endCheck(read, answers[index] ?? [], atMs) ? [of] : []))
}
