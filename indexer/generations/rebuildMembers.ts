import { setTimeout as sleep } from 'node:timers/promises'
import { writeAliasesOf } from '../../src/core/elasticsearch/indices.ts'
import {
  type AnnouncedRebuild,
  announceRebuild,
  readAnnouncedRebuild,
  withdrawRebuild,
} from '../../src/core/redis/announcedRebuild.ts'
import type { RedisConnection } from '../../src/core/redis/redis.ts'
import { readServing } from '../../src/core/redis/serving.ts'
import type { CommandTools } from '../engineCommand.ts'
import { readTopicRules } from '../topics.ts'
import { MixedLogs } from './findReplacedTypes.ts'
import type { Generation } from './generation.ts'
import { generationsOf, RebuildPipeline, removeFilled } from './rebuildPipeline.ts'

/** The announcement expires so long after its last renewal: members stop soon after the rebuild was killed. */
const announcementLifeMs = 6_000
const renewalMs = 1_500
const waitPollMs = 1_000
const fillPollMs = 250
const checkMs = 5_000
/** A member ends after so long without an announced rebuild. A killed rebuild is usually started again sooner. */
const idleDeadlineMs = 120_000

export type Announcement = { withdraw(): Promise<void> }

/**
 * Announces a rebuild to its members: processes that help it to read the topics (`fillAsMember`). If Redis does not answer, members stop, and the rebuild goes
 * on alone.
 */
export function announceToMembers(redis: RedisConnection, rebuild: AnnouncedRebuild): Announcement {
  const announce = (): void => {
    announceRebuild(redis, rebuild, announcementLifeMs).catch(() => undefined)
  }
  announce()
  const renewal = setInterval(announce, renewalMs)
  return {
    withdraw: async () => {
      clearInterval(renewal)
      await withdrawRebuild(redis, rebuild).catch(() => undefined)
    },
  }
}

/**
 * Joins the consumer group of each announced rebuild, so that Kafka divides the partitions among the rebuild and its members. A member may join, leave and die
 * at any time. Ends when a generation that it helped to fill serves, or after two minutes without an announced rebuild.
 */
export async function fillAsMember(tools: CommandTools): Promise<void> {
  const { redis, report, signal } = tools
  report.step('waiting for a rebuild to be announced')
  let filled: Generation | undefined
  for (let idleMs = 0; idleMs < idleDeadlineMs; idleMs += waitPollMs) {
    const rebuild = await readAnnounced(redis)
    const target = rebuild && (await generationOf(tools, rebuild))
    if (rebuild !== undefined && target !== undefined) {
      await fillUntilWithdrawn(tools, rebuild, target)
      filled = target
      idleMs = 0
    }
    // An upgrade waits for all members, and the watermark stands still meanwhile.
    if (filled !== undefined && (await readServing(redis).catch(() => undefined)) === filled.tag) {
      report.step(`generation ${filled.number} serves`)
      return
    }
    await sleep(waitPollMs, undefined, { signal })
  }
  report.step('no rebuild is announced')
}

/** Undefined also if Redis does not answer: then a member stops, and joins again later. */
const readAnnounced = (redis: RedisConnection): Promise<AnnouncedRebuild | undefined> =>
  readAnnouncedRebuild(redis).catch(() => undefined)

/** Undefined if the generation does not exist any more, or has served. `holder`: the id of the rebuild, which is part of the write aliases. */
async function generationOf(tools: CommandTools, { tag, holder }: AnnouncedRebuild): Promise<Generation | undefined> {
  const target = (await generationsOf(tools).find()).find(({ complete }) => complete?.tag === tag)?.complete
  if (target === undefined || target.hasServed) return undefined
  if (!target.hasCurrentMappings)
    throw new Error(
      `the rebuild fills generation ${target.number} with mappings of another release, or of another INDEX_ANSWERS`,
    )
  return { ...target, writeAliases: writeAliasesOf(target.indices, holder) }
}

/** Also ends when reading fails. Example: another rebuild has taken over the generation. */
async function fillUntilWithdrawn(tools: CommandTools, rebuild: AnnouncedRebuild, target: Generation): Promise<void> {
  const { config, source, redis, report, signal } = tools
  const rules = await readTopicRules(source, config)
  report.step(`generation ${target.number} is filled`)
  const failure = new AbortController()
  const toolsUntilFailed = { ...tools, signal: AbortSignal.any([signal, failure.signal]) }
  const pipeline = new RebuildPipeline(toolsUntilFailed, target, rules, (error) => failure.abort(error))
  try {
    for (let waitedMs = 0; ; waitedMs += fillPollMs) {
      const announced = await readAnnounced(redis)
      if (announced?.tag !== rebuild.tag || announced.holder !== rebuild.holder) break
      if (waitedMs % checkMs === 0) await pipeline.expectUndisturbed()
      await sleep(fillPollMs, undefined, { signal: toolsUntilFailed.signal })
    }
    report.step('the rebuild has ended, or needs no members any more')
  } catch (error) {
    // The process is stopped.
    signal.throwIfAborted()
    // The rebuild notices the deletion, and ends.
    if (error instanceof MixedLogs) await removeFilled(tools, target)
    report.step(`stops filling: ${(error as Error).message}`)
  } finally {
    await pipeline.stop()
  }
}
