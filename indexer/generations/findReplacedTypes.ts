import { setTimeout as sleep } from 'node:timers/promises'
import { partitionName } from '../../src/core/kafka/sourceRecord.ts'
import { type EntityType, entityTypes } from '../../src/core/model/ids.ts'
import { readLogStates } from '../../src/core/redis/logStates.ts'
import { queryLogs } from '../checkLogs.ts'
import type { CommandTools } from '../engineCommand.ts'
import { ReplacementDetector, readStoredLogState } from '../logReplacement.ts'
import { readLogStatesOfDocuments } from '../logStatesOfDocuments.ts'
import { fetchCommittedOffsets, isRenamed, rebuildGroup } from '../startOffsets.ts'
import { documentPartitionsIn, documentTopics, entityTypeIn, type TopicRules } from '../topics.ts'
import type { Generation } from './generation.ts'

export const doubtPollMs = 5_000

/** A log was replaced while a rebuild read it: the new generation may lack records of the new log. */
export class MixedLogs extends Error {
  override readonly name = 'MixedLogs'
}

/**
 * Finds logs that were replaced after the serving generation was read from them. Resolves with the entity types of their topics. A log that lacks a prefix
 * (`logReplacement.ts`) is checked again for half a minute: a former leader may have answered.
 */
export async function findReplacedTypes(
  { config, source, elasticsearch, redis, report, signal }: CommandTools,
  serving: Generation,
  { hasAppendTimes }: Pick<TopicRules, 'hasAppendTimes'>,
): Promise<ReadonlySet<EntityType>> {
  const topics = documentTopics(config)
  const stored = await readLogStates(redis, serving.tag)
  const renamed = topics.filter((topic) => isRenamed(topic, stored, topics))
  // The last wins: states in Redis, which outlive the commits of a deleted topic; states in commits of the rebuild that filled the generation; states in
  // commits of live indexers.
  const fromRedis = [...stored].map(([name, text]) => [name, readStoredLogState(text)] as const)
  const committed = [
    ...(await fetchCommittedOffsets(source, rebuildGroup(config.CONSUMER_GROUP), topics)),
    ...(await fetchCommittedOffsets(source, config.CONSUMER_GROUP, topics)),
  ].flatMap(([name, { generation, log }]) => (generation === serving.tag ? [[name, log] as const] : []))
  const storedStates = new Map([...fromRedis, ...committed])
  const partitions = [...(await source.offsetRanges(topics)).values()]
  const withoutState = documentPartitionsIn(partitions, config).filter(
    (partition) => !storedStates.has(partitionName(partition)),
  )
  const statesOfDocuments = await readLogStatesOfDocuments(elasticsearch, serving, withoutState, { signal })
  const knownLogs = [...statesOfDocuments, ...storedStates].map(([name, state]) => {
    const at = name.lastIndexOf('/')
    return { topic: name.slice(0, at), partition: Number(name.slice(at + 1)), log: new ReplacementDetector(state) }
  })
  // Without append times, a replaced log cannot be detected.
  const logs = hasAppendTimes ? knownLogs.filter(({ topic }) => topics.includes(topic)) : []
  for (;;) {
    const undecided = logs.filter(({ log }) => !log.isReplaced)
    const queries = undecided.map(({ topic, partition, log }) => ({ topic, partition, prefixes: log.prefixes() }))
    const answers = queries.length === 0 ? [] : await queryLogs(source, queries)
    // No records are read here, so the prefix stays as stored.
    for (const [at, { log }] of undecided.entries())
      log.endCheck(log.prefixUpTo(0n), answers[at] ?? [], performance.now())
    if (logs.every(({ log }) => log.isReplaced || !log.isDoubted)) break
    await sleep(doubtPollMs, undefined, { signal })
    source.forgetLeaders()
  }
  const replacedTopics = [...renamed, ...logs.filter(({ log }) => log.isReplaced).map(({ topic }) => topic)]
  const replaced = replacedTopics.map((topic) => entityTypeIn(topic, config))
  const types = new Set(entityTypes.filter((type) => replaced.includes(type)))
  for (const type of types)
    report.step(
      `the topic of ${type} was replaced: ${type} that only generation ${serving.number} has are carried over`,
    )
  return types
}
