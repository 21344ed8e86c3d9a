import { setTimeout as sleep } from 'node:timers/promises'
import { partitionName } from '../../src/core/kafka/sourceRecord.ts'
import { type EntityType, entityTypes } from '../../src/core/model/ids.ts'
import { readLogsOf } from '../../src/core/stores/readLogs.ts'
import type { CommandTools } from '../engineCommand.ts'
import { readIndexedLogs } from '../indexedLogs.ts'
import { askOfLogs } from '../logCheck.ts'
import { ReadLog, readKeptLog } from '../readLog.ts'
import { fetchCommittedOffsets, isRenamed, rebuildGroup } from '../startOffsets.ts'
import { documentPartitionsIn, documentTopics, entityTypeIn, type TopicRules } from '../topics.ts'
import type { Generation } from './generation.ts'

/** Between two questions about a log that does not hold what was read of it. */
export const doubtPollMs = 5_000

/** A generation was filled from a log and from another one in its place: it may lack records of the other one. */
export class MixedLogs extends Error {
  override readonly name = 'MixedLogs'
}

/**
 * The entity types of the topics in whose place a partition holds another log than the serving generation was read from, by what was committed for
 * that. While a former leader may have answered, Kafka is asked again, for half a minute at most.
 */
export async function findReplacedTypes(
  { config, source, elasticsearch, redis, report, signal }: CommandTools,
  serving: Generation,
  { hasAppendTimes }: Pick<TopicRules, 'hasAppendTimes'>,
): Promise<ReadonlySet<EntityType>> {
  const topics = documentTopics(config)
  const readLogs = await readLogsOf(redis, serving.tag)
  const renamed = topics.filter((topic) => isRenamed(topic, readLogs, topics))
  // Later ones count: with a topic its commits are deleted, and indexers have read more of a generation than the rebuild that has filled it.
  const kept = [...readLogs].map(([name, text]) => [name, readKeptLog(text)] as const)
  const committed = [
    ...(await fetchCommittedOffsets(source, rebuildGroup(config.CONSUMER_GROUP), topics)),
    ...(await fetchCommittedOffsets(source, config.CONSUMER_GROUP, topics)),
  ].flatMap(([name, { generation, log }]) => (generation === serving.tag ? [[name, log] as const] : []))
  const known = new Map([...kept, ...committed])
  const partitions = [...(await source.offsetRanges(topics)).values()]
  const unknown = documentPartitionsIn(partitions, config).filter((each) => !known.has(partitionName(each)))
  const indexed = await readIndexedLogs(elasticsearch, serving, unknown, { signal })
  const read = [...indexed, ...known].map(([name, state]) => {
    const at = name.lastIndexOf('/')
    return { topic: name.slice(0, at), partition: Number(name.slice(at + 1)), log: new ReadLog(state) }
  })
  // Without append times a log cannot be told from another one.
  const logs = hasAppendTimes ? read.filter(({ topic }) => topics.includes(topic)) : []
  for (;;) {
    const asked = logs.filter(({ log }) => !log.isReplaced)
    const partitions = asked.map(({ log, ...of }) => ({ ...of, prefixes: log.prefixes() }))
    const answers = partitions.length === 0 ? [] : await askOfLogs(source, partitions)
    for (const [at, { log }] of asked.entries()) log.endCheck(log.upTo(0n), answers[at] ?? [], performance.now())
    if (logs.every(({ log }) => log.isReplaced || !log.isDoubted)) break
    await sleep(doubtPollMs, undefined, { signal })
    source.forgetLeaders()
  }
  const others = [...renamed, ...logs.filter(({ log }) => log.isReplaced).map(({ topic }) => topic)]
  const replaced = others.map((topic) => entityTypeIn(topic, config))
  const types = new Set(entityTypes.filter((type) => replaced.includes(type)))
  for (const type of types)
    report.step(`the topic of ${type} was replaced: what only generation ${serving.number} has of them is carried over`)
  return types
}
