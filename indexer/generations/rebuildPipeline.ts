import { setTimeout as sleep } from 'node:timers/promises'
import { Registry } from 'prom-client'
import { partitionName } from '../../src/core/kafka/sourceRecord.ts'
import { keepReadLogs, readLogsOf } from '../../src/core/redis/readLogs.ts'
import { readPublishedPositions } from '../../src/core/redis/readVisiblePositions.ts'
import { isSwitchLocked, redisTimeMs } from '../../src/core/redis/serving.ts'
import { publishVisiblePositions } from '../../src/core/redis/visiblePositions.ts'
import { until } from '../backoff.ts'
import type { CommandTools } from '../engineCommand.ts'
import { pipelineMetrics } from '../metrics.ts'
import { Pipeline } from '../pipeline.ts'
import { fetchCommittedOffsets, rebuildGroup } from '../startOffsets.ts'
import { documentTopics, entityTypeIn, type TopicRules } from '../topics.ts'
import type { VisiblePartition } from '../visibilityPublisher.ts'
import { visibleRound } from '../visibleRound.ts'
import { untilCommittedPast } from './committedPast.ts'
import type { Generation } from './generation.ts'
import { Generations } from './generations.ts'
import { doubtPollMs, MixedLogs } from './replacedLogs.ts'

/** Longer than the pipeline takes to publish the records in flight (ms). */
const stopDeadlineMs = 8_500
/** Longer (ms) than a killed rebuild stays a member of its consumer group, until its session times out. */
const groupDeadlineMs = 20_000
/** The interval (ms) of `expectUndisturbed` during a wait. */
const checkMs = 5_000
/** How long (ms) a wait may take while the lock of the switch stops the watermark. */
const switchDeadlineMs = 20_000
const requestTimeoutMs = 30_000
const pollMs = 250

/** Fills a generation that has no readers yet from both document topics. It runs the pipeline of an indexer, but in the consumer group of rebuilds. */
export class RebuildPipeline {
  readonly #tools: CommandTools
  readonly #generation: Generation
  readonly #hasAppendTimes: boolean
  readonly #pipeline: Pipeline
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>
  #stopped: Promise<unknown> | undefined

  /** Starts to read. `fail` is called when the pipeline stops because of a bug. */
  constructor(tools: CommandTools, generation: Generation, rules: TopicRules, fail: (error: unknown) => void) {
    const { config, source, elasticsearch, redis, log } = tools
    const topics = documentTopics(config)
    this.#tools = tools
    this.#generation = generation
    this.#hasAppendTimes = rules.hasAppendTimes
    this.#pipeline = new Pipeline({
      config,
      source,
      elasticsearch,
      generation,
      topics,
      log,
      fail,
      groupId: rebuildGroup(config.CONSUMER_GROUP),
      keptMs: (topic) => rules.keptMs[topic] ?? Number.POSITIVE_INFINITY,
      serving: undefined,
      redisTimeMs: () => redisTimeMs(redis),
      // No client has read a list version of this generation yet. So, instead of a new version for each list, one change for all lists is enough.
      publishVisible: (round) =>
        publishVisiblePositions(
          redis,
          visibleRound(config, generation, { ...round, lists: [], changesEveryList: true }, false),
        ),
      readLogs: {
        keep: (logs) => keepReadLogs(redis, generation.tag, logs),
        kept: () => readLogsOf(redis, generation.tag),
      },
      metrics: pipelineMetrics(new Registry(), topics),
    })
    this.#running = this.#pipeline.run(this.#stopping.signal).catch(fail)
  }

  /** The partitions that this process owns and of which the new generation shows every record below an offset. */
  visible(): readonly VisiblePartition[] {
    return this.#pipeline.publisher.visible()
  }

  /**
   * Waits until every record that is in the topics now is searchable in the new generation. Resolves with its visible partitions. `extendLock`, if the rebuild
   * has the lock of the switch, is called several times a second. As the watermark stands still meanwhile, the wait then has a deadline. Without `extendLock`,
   * members may read some of the partitions.
   */
  async readToTheEnd(extendLock?: () => Promise<void>): Promise<readonly VisiblePartition[]> {
    const { source, config, report, signal } = this.#tools
    const ends = await source.offsetRanges(documentTopics(config))
    const total = [...ends.values()].reduce((sum, { low, high }) => sum + Number(high - low), 0)
    const reportBlocked = this.#blockedReporter()
    for (let waitedMs = 0; ; waitedMs += pollMs) {
      const visible = extendLock === undefined ? await this.#visibleOfAllMembers() : this.visible()
      const positions = new Map(visible.map((partition) => [partitionName(partition), partition.to]))
      const unread = [...ends].map(([name, { low, high }]) => Math.max(0, Number(high - (positions.get(name) ?? low))))
      const left = unread.reduce((sum, records) => sum + records, 0)
      if (extendLock === undefined) report.progress('records read', total - left, total)
      if (left === 0 && [...ends.keys()].every((name) => positions.has(name))) return visible
      if (extendLock !== undefined && waitedMs > switchDeadlineMs)
        throw new Error('the new generation does not reach the end of the topics in time')
      reportBlocked()
      // Under the lock, there is no such check: it would delay the renewal of the lock, and the deadline ends the wait in any case.
      if (extendLock === undefined && waitedMs % checkMs === 0) await this.expectUndisturbed()
      await extendLock?.()
      await sleep(pollMs, undefined, { signal })
    }
  }

  /** Returns a function that reports why the pipeline makes no progress, once for each change of the reasons. */
  #blockedReporter(): () => void {
    let reported = ''
    return () => {
      const blocked = Object.values(this.#pipeline.blockedReasons())
      const reasons = blocked.filter((reason) => reason !== undefined).join('; ')
      if (reasons !== '' && reasons !== reported) {
        this.#tools.report.step(`waiting: ${reasons}`)
        reported = reasons
      }
    }
  }

  /**
   * The visible partitions of this process and of its members. A partition of a member is visible up to the offset that the member has both published and
   * committed.
   */
  async #visibleOfAllMembers(): Promise<readonly VisiblePartition[]> {
    const own = this.visible()
    const owned = new Set(this.#pipeline.documentPartitions().map(partitionName))
    const { source, config, redis } = this.#tools
    const { tag } = this.#generation
    const commits = await fetchCommittedOffsets(source, rebuildGroup(config.CONSUMER_GROUP), documentTopics(config))
    const others: VisiblePartition[] = []
    for (const topic of documentTopics(config))
      for (const [partition, published] of await readPublishedPositions(redis, entityTypeIn(topic, config), tag)) {
        const name = partitionName({ topic, partition })
        const commit = commits.get(name)
        if (owned.has(name) || commit?.generation !== tag) continue
        const position = BigInt(published.position)
        const to = position < commit.position ? position : commit.position
        others.push({ topic, partition, to, timeMs: Math.min(published.timeMs, commit.coveredAtMs) })
      }
    return [...own, ...others]
  }

  /**
   * Waits until all members have left, and this process has got their partitions. Then only this process writes to the new generation: what a member had not
   * committed is read again.
   */
  async untilMembersHaveLeft(): Promise<void> {
    const { source, config, report, signal } = this.#tools
    const group = rebuildGroup(config.CONSUMER_GROUP)
    for (let waitedMs = 0; ; waitedMs += pollMs) {
      const partitions = await source.offsetRanges(documentTopics(config))
      const ownsAll = this.#pipeline.documentPartitions().length === partitions.size
      if (ownsAll && (await source.groupMembers(group)).length === 1) return
      if (waitedMs === pollMs) report.step('waiting until the members have left')
      if (waitedMs % checkMs === 0) await this.expectUndisturbed()
      await sleep(pollMs, undefined, { signal })
    }
  }

  /**
   * Waits until the indexers of the serving generation have committed past every record that this rebuild has rejected (why: `untilCommittedPast`). With
   * `extendLock`, the wait has a deadline. If this rebuild continues a killed one, it cannot know which records the killed one has rejected: so it also
   * waits until everything below its start offsets is committed.
   */
  async untilRejectedAreCommitted(serving: Generation, extendLock?: () => Promise<void>): Promise<void> {
    const wanted = new Map(
      this.#pipeline
        .documentPartitions()
        .map((partition) => [partitionName(partition), partition.start.position as bigint]),
    )
    for (const [name, below] of this.#pipeline.rejectedBelow)
      if (below > (wanted.get(name) ?? 0n)) wanted.set(name, below)
    // If another rebuild has switched while this one was frozen, indexers commit for the other generation, and never again for `serving`: the wait would not
    // end by itself.
    const afterPoll = async (waitedMs: number): Promise<void> => {
      if (waitedMs % checkMs === 0) await this.expectUndisturbed()
    }
    const limit =
      extendLock === undefined
        ? { deadlineMs: Number.POSITIVE_INFINITY, afterPoll }
        : { deadlineMs: switchDeadlineMs, afterPoll: extendLock }
    await untilCommittedPast(this.#tools, serving, wanted, limit)
  }

  /**
   * Throws if the generation was deleted, or taken over by another rebuild. In that case the two rebuilds share the partitions of the group, and this one
   * would wait for ever for the partitions of the other. Throws `MixedLogs` if a log was replaced while the generation was filled from it.
   */
  async expectUndisturbed(): Promise<void> {
    await this.expectOwn()
    if (this.#hasAppendTimes) await this.#expectSameLogs()
  }

  /** Throws if the generation was deleted, or taken over by another rebuild. */
  async expectOwn(): Promise<void> {
    const { number, tag, writeAliases } = this.#generation
    const own = (await generationsOf(this.#tools).find()).find(({ complete }) => complete?.tag === tag)
    if (own === undefined) throw new Error(`generation ${number} was deleted: run the rebuild again`)
    if (own.indices.some(({ kind, state }) => state.aliases?.[writeAliases[kind]] === undefined))
      throw new Error(`another rebuild fills generation ${number}: run one again`)
  }

  async #expectSameLogs(): Promise<void> {
    const { signal } = this.#tools
    await this.#pipeline.checkLogs()
    while (this.#pipeline.documentPartitions().some(({ log }) => log.isDoubted && !log.isReplaced)) {
      await sleep(doubtPollMs, undefined, { signal })
      await this.#pipeline.checkLogs()
    }
    const replaced = this.#pipeline.documentPartitions().filter(({ log }) => log.isReplaced)
    if (replaced.length === 0) return
    const names = replaced.map(partitionName).join(', ')
    throw new MixedLogs(`${names} was replaced while the new generation was filled from it: run the rebuild again`)
  }

  /**
   * Publishes the records in flight, and leaves the group, within `stopDeadlineMs`. False if a write may still be in flight. Then the rebuild must not switch:
   * the document of that write would appear later, without a new version of its list.
   */
  async stop(): Promise<boolean> {
    this.#stopping.abort()
    this.#stopped ??= this.#running
      .then(() => this.#pipeline.shutDown())
      .catch((err: unknown) => this.#tools.log.warn({ err }, 'left the consumer group without a final commit'))
    await Promise.race([this.#stopped, sleep(stopDeadlineMs, undefined, { ref: false })])
    return this.#pipeline.consumer.inFlightBytes === 0
  }
}

/** Removes a generation that rebuilds have filled, unless it has served. */
export async function removeFilled(options: CommandTools, { tag }: Generation): Promise<void> {
  const generations = generationsOf(options)
  const filled = (await generations.find()).find(({ complete }) => complete?.tag === tag && !complete.hasServed)
  if (filled !== undefined) await generations.delete(filled)
}

export const generationsOf = (
  { config, elasticsearch, signal }: CommandTools,
  requestTimeout = requestTimeoutMs,
): Generations => new Generations(elasticsearch, config, { signal, requestTimeout })

/** Throws if another rebuild runs. A killed rebuild seems to run until its session in the group and its lock have expired: waits for that. */
export async function expectAlone({ source, config, redis, signal }: CommandTools): Promise<void> {
  // The group is read before the lock: a rebuild that leaves the group has acquired the lock before that, so that one of the two shows it.
  const isAlone = async () =>
    (await source.groupMembers(rebuildGroup(config.CONSUMER_GROUP))).length === 0 && !(await isSwitchLocked(redis))
  if (!(await until(isAlone, groupDeadlineMs, signal, pollMs))) throw new Error('another rebuild is running')
}
