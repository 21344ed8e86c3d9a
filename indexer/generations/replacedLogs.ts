import { setTimeout as sleep } from 'node:timers/promises'
import { type EntityType, entityTypes } from '../../src/core/model/ids.ts'
import type { CommandTools } from '../engineCommand.ts'
import { askOfLogs } from '../logCheck.ts'
import { ReadLog } from '../readLog.ts'
import { fetchCommittedOffsets, rebuildGroup } from '../startOffsets.ts'
import { documentTopics, entityTypeIn, type TopicRules } from '../topics.ts'
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
  { config, source, report, signal }: CommandTools,
  serving: Generation,
  { hasAppendTimes }: Pick<TopicRules, 'hasAppendTimes'>,
): Promise<ReadonlySet<EntityType>> {
  // Without append times a log cannot be told from another one.
  if (!hasAppendTimes) return new Set()
  const topics = documentTopics(config)
  const committed = new Map(
    // Indexers that go on in a generation have read more of it than the rebuild that has filled it.
    [
      ...(await fetchCommittedOffsets(source, rebuildGroup(config.CONSUMER_GROUP), topics)),
      ...(await fetchCommittedOffsets(source, config.CONSUMER_GROUP, topics)),
    ].filter(([, { generation }]) => generation === serving.tag),
  )
  const logs = [...committed].map(([name, { position, log }]) => {
    const at = name.lastIndexOf('/')
    return { topic: name.slice(0, at), partition: Number(name.slice(at + 1)), position, log: new ReadLog(log) }
  })
  for (;;) {
    const asked = logs.filter(({ log }) => !log.isReplaced)
    const partitions = asked.map(({ log, ...of }) => ({ ...of, prefixes: log.prefixes() }))
    const answers = partitions.length === 0 ? [] : await askOfLogs(source, partitions)
    for (const [at, { log, position }] of asked.entries())
      log.endCheck(log.upTo(position), answers[at] ?? [], performance.now())
    if (logs.every(({ log }) => log.isReplaced || !log.isDoubted)) break
    await sleep(doubtPollMs, undefined, { signal })
    source.forgetLeaders()
  }
  const replaced = logs.filter(({ log }) => log.isReplaced).map(({ topic }) => entityTypeIn(topic, config))
  const types = new Set(entityTypes.filter((type) => replaced.includes(type)))
  for (const type of types)
    report.step(`the topic of ${type} was replaced: what only generation ${serving.number} has of them is carried over`)
  return types
}
