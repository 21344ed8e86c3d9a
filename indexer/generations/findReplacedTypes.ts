import { setTimeout as sleep } from 'node:timers/promises'
import { partitionName, type TopicPartition } from '../../src/core/kafka/sourceRecord.ts'
import { type EntityType, entityTypes } from '../../src/core/model/ids.ts'
import { readLogStates } from '../../src/core/redis/logStates.ts'
import { queryLogs } from '../checkLogs.ts'
import type { CommandTools } from '../engineCommand.ts'
import { ReplacementDetector, readStoredLogState } from '../logReplacement.ts'
import { readLogStatesOfDocuments } from '../logStatesOfDocuments.ts'
import { fetchCommittedOffsets, isRenamed, rebuildGroup } from '../startOffsets.ts'
import { documentPartitionsIn, documentTopics, entityTypeIn, type TopicRules } from '../topics.ts'
import type { Generation } from './generation.ts'

/** Between two checks of a log that is doubted: a former leader may have answered. */
export const doubtPollMs = 5_000

/** A log was replaced while a rebuild read it: the new generation may lack records. */
export class MixedLogs extends Error {
  override readonly name = 'MixedLogs'
}

/** `log`: compares the present log with its prefixes (the records below an offset, and their latest append time) that the generation was read from. */
type CheckedPartition = TopicPartition & { readonly log: ReplacementDetector }

/**
 * Resolves with the types of which a log was replaced after the serving generation was read from it. Example: the topic was deleted and created again. A log
 * that lacks what was read from it (`logReplacement.ts`) is checked again for half a minute.
 */
export async function findReplacedTypes(
  tools: CommandTools,
  serving: Generation,
  { hasAppendTimes }: Pick<TopicRules, 'hasAppendTimes'>,
): Promise<ReadonlySet<EntityType>> {
  const { config, redis, report } = tools
  const topics = documentTopics(config)
  const statesInRedis = await readLogStates(redis, serving.tag)
  // After a change of `TOPIC_FORMS`, the indices have positions of another topic.
  const renamed = topics.filter((topic) => isRenamed(topic, statesInRedis, topics))
  const readPartitions = await partitionsReadFor(tools, serving, statesInRedis)
  // Without append times, a replaced log cannot be detected.
  const checked = hasAppendTimes ? readPartitions.filter(({ topic }) => topics.includes(topic)) : []
  await checkUntilDecided(tools, checked)
  const replacedTopics = [...renamed, ...checked.filter(({ log }) => log.isReplaced).map(({ topic }) => topic)]
  const replacedTypes = replacedTopics.map((topic) => entityTypeIn(topic, config))
  const types = new Set(entityTypes.filter((type) => replacedTypes.includes(type)))
  for (const type of types)
    report.step(
      `the topic of ${type} was replaced: ${type} that only generation ${serving.number} has are carried over`,
    )
  return types
}

/** `statesInRedis`: `partitionName` → `logStateText`. */
async function partitionsReadFor(
  { config, source, elasticsearch, signal }: CommandTools,
  serving: Generation,
  statesInRedis: ReadonlyMap<string, string>,
): Promise<CheckedPartition[]> {
  const topics = documentTopics(config)
  const fromRedis = [...statesInRedis].map(([name, text]) => [name, readStoredLogState(text)] as const)
  const fromCommits = [
    ...(await fetchCommittedOffsets(source, rebuildGroup(config.CONSUMER_GROUP), topics)),
    ...(await fetchCommittedOffsets(source, config.CONSUMER_GROUP, topics)),
  ].flatMap(([name, { generation, log }]) => (generation === serving.tag ? [[name, log] as const] : []))
  // The state in the commit of a live indexer counts, else that of the rebuild that filled the generation, else that in Redis, which outlives the commits of a
  // deleted topic. Later entries of the map win.
  const storedStates = new Map([...fromRedis, ...fromCommits])
  const partitions = [...(await source.offsetRanges(topics)).values()]
  const withoutState = documentPartitionsIn(partitions, config).filter(
    (partition) => !storedStates.has(partitionName(partition)),
  )
  const statesOfDocuments = await readLogStatesOfDocuments(elasticsearch, serving, withoutState, { signal })
  return [...statesOfDocuments, ...storedStates].map(([name, state]) => {
    const slash = name.lastIndexOf('/')
    return {
      topic: name.slice(0, slash),
      partition: Number(name.slice(slash + 1)),
      log: new ReplacementDetector(state),
    }
  })
}

async function checkUntilDecided(
  { source, signal }: CommandTools,
  partitions: readonly CheckedPartition[],
): Promise<void> {
  for (;;) {
    const undecided = partitions.filter(({ log }) => !log.isReplaced)
    const queries = undecided.map(({ topic, partition, log }) => ({ topic, partition, prefixes: log.prefixes() }))
    const answers = queries.length === 0 ? [] : await queryLogs(source, queries)
    for (const [number, { log }] of undecided.entries()) {
      // Offset 0: this process reads no records, so it adds none to the prefix of the stored state.
      const readPrefix = log.prefixUpTo(0n)
      log.endCheck(readPrefix, answers[number] ?? [], performance.now())
    }
    if (partitions.every(({ log }) => log.isReplaced || !log.isDoubted)) return
    await sleep(doubtPollMs, undefined, { signal })
    source.forgetLeaders()
  }
}
