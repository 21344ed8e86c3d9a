import { setTimeout as sleep } from 'node:timers/promises'
import { Registry } from 'prom-client'
import { partitionName } from '../../src/core/kafka/sourceRecord.ts'
import { problemIn } from '../../src/core/monitoring/health.ts'
import { readLogStates, storeLogStates } from '../../src/core/redis/logStates.ts'
import { readPublishedPositions } from '../../src/core/redis/readVisiblePositions.ts'
import { isSwitchLocked, redisTimeMs } from '../../src/core/redis/serving.ts'
import { publishVisiblePositions } from '../../src/core/redis/visiblePositions.ts'
import { until } from '../backoff.ts'
import type { CommandTools } from '../engineCommand.ts'
import { pipelineMetrics } from '../metrics.ts'
import { Pipeline } from '../pipeline.ts'
import type { VisiblePartition } from '../progressPublisher.ts'
import { roundForRedis } from '../roundForRedis.ts'
import { fetchCommittedOffsets, rebuildGroup } from '../startOffsets.ts'
import { documentTopics, entityTypeIn, type TopicRules } from '../topics.ts'
import { doubtPollMs, MixedLogs } from './findReplacedTypes.ts'
import type { Generation } from './generation.ts'
import { Generations } from './generations.ts'
import { untilCommittedPast, type WaitLimit } from './untilCommittedPast.ts'

/** Longer than the pipeline takes to publish the records in flight. */
const stopDeadlineMs = 8_500
/** Longer than a killed rebuild stays a member of its group. */
const groupDeadlineMs = 20_000
const checkMs = 5_000
const requestTimeoutMs = 30_000
const pollMs = 250

/**
 * Fills a generation that does not serve yet: an indexer's pipeline in the consumer group of rebuilds. Other processes (members) may run one for the same
 * generation: Kafka divides the partitions among them.
 */
export class RebuildPipeline {
  readonly #tools: CommandTools
  readonly #generation: Generation
  readonly #hasAppendTimes: boolean
  readonly #pipeline: Pipeline
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>
  #stopped: Promise<unknown> | undefined

  /** Starts to read. `fail` is called after a bug in the pipeline. */
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
      // No client has read a list version of this generation yet. So each round changes those of all lists, without naming the changed ones.
      publishVisible: (round) =>
        publishVisiblePositions(
          redis,
          roundForRedis(config, generation, { ...round, lists: [], changesEveryList: true }, false),
        ),
      logStates: {
        store: (logs) => storeLogStates(redis, generation.tag, logs),
        read: () => readLogStates(redis, generation.tag),
      },
      metrics: pipelineMetrics(new Registry(), topics),
    })
    this.#running = this.#pipeline.run(this.#stopping.signal).catch(fail)
  }

  /**
   * Whether Kafka may have removed a deletion before it was read here. Example:
   * 1. A rebuild reads `a@1`, and is killed.
   * 2. `a` is deleted. Kafka removes both records before another rebuild continues the generation, which still has `a`.
   * 3. If the indexers have missed the deletion, too, the serving generation has `a` as well: a comparison finds no difference.
   */
  mayLackDeletions(): boolean {
    return this.#pipeline.documentPartitions().some(({ coverage }) => coverage.mayHaveMissed)
  }

  visible(): readonly VisiblePartition[] {
    return this.#pipeline.publisher.visible()
  }

  /** Waits until every record that is in the topics now is searchable in the new generation, also those of members. */
  async fill(): Promise<void> {
    await this.#untilRead(() => this.#visibleOfAllMembers(), this.whileUndisturbed(), true)
  }

  /** Like `fill`, but after the members have left. */
  readToTheEnd(limit: WaitLimit): Promise<readonly VisiblePartition[]> {
    return this.#untilRead(async () => this.visible(), limit, false)
  }

  async #untilRead(
    readVisible: () => Promise<readonly VisiblePartition[]>,
    { deadlineMs, afterPoll }: WaitLimit,
    reportsProgress: boolean,
  ): Promise<readonly VisiblePartition[]> {
    const { source, config, report, signal } = this.#tools
    const ends = await source.offsetRanges(documentTopics(config))
    const total = [...ends.values()].reduce((sum, { low, high }) => sum + Number(high - low), 0)
    let reportedReasons = ''
    for (let waitedMs = 0; ; waitedMs += pollMs) {
      const visible = await readVisible()
      const visibleBelow = new Map(visible.map((partition) => [partitionName(partition), partition.to]))
      const unreadOf = ([name, { low, high }]: [string, { low: bigint; high: bigint }]): number =>
        Math.max(0, Number(high - (visibleBelow.get(name) ?? low)))
      const unread = [...ends].map(unreadOf).reduce((sum, records) => sum + records, 0)
      if (reportsProgress) report.progress('records read', total - unread, total)
      if (unread === 0 && [...ends.keys()].every((name) => visibleBelow.has(name))) return visible
      if (waitedMs > deadlineMs) throw new Error('the new generation does not reach the end of the topics in time')
      const problems = Object.values(this.#pipeline.health()).flatMap((health) => problemIn(health) ?? [])
      const reasons = problems.join('; ')
      if (reasons !== '' && reasons !== reportedReasons) {
        report.step(`waiting: ${reasons}`)
        reportedReasons = reasons
      }
      await afterPoll(waitedMs)
      await sleep(pollMs, undefined, { signal })
    }
  }

  /** A partition of a member is visible up to the offset that the member has both published and committed. */
  async #visibleOfAllMembers(): Promise<readonly VisiblePartition[]> {
    const ownPartitions = this.visible()
    const ownNames = new Set(this.#pipeline.documentPartitions().map(partitionName))
    const { source, config, redis } = this.#tools
    const { tag } = this.#generation
    const commits = await fetchCommittedOffsets(source, rebuildGroup(config.CONSUMER_GROUP), documentTopics(config))
    const partitionsOfMembers: VisiblePartition[] = []
    for (const topic of documentTopics(config))
      for (const [partition, published] of await readPublishedPositions(redis, entityTypeIn(topic, config), tag)) {
        const name = partitionName({ topic, partition })
        const commit = commits.get(name)
        if (ownNames.has(name) || commit?.generation !== tag) continue
        const publishedTo = BigInt(published.position)
        const to = publishedTo < commit.position ? publishedTo : commit.position
        partitionsOfMembers.push({ topic, partition, to, timeMs: Math.min(published.timeMs, commit.coveredUntilMs) })
      }
    return [...ownPartitions, ...partitionsOfMembers]
  }

  /** Waits until this process has got the partitions of all members. It reads again what they had not committed. */
  async untilMembersHaveLeft(): Promise<void> {
    const { source, config, report, signal } = this.#tools
    const group = rebuildGroup(config.CONSUMER_GROUP)
    const { afterPoll } = this.whileUndisturbed()
    for (let waitedMs = 0; ; waitedMs += pollMs) {
      const partitions = await source.offsetRanges(documentTopics(config))
      const ownsAll = this.#pipeline.documentPartitions().length === partitions.size
      if (ownsAll && (await source.groupMembers(group)).length === 1) return
      if (waitedMs === pollMs) report.step('waiting until the members have left')
      await afterPoll(waitedMs)
      await sleep(pollMs, undefined, { signal })
    }
  }

  /**
   * Waits until the indexers of the serving generation have committed past every rejected record (why: `untilCommittedPast`). Below the start offsets of this
   * process, members or a killed rebuild may have rejected records that it never read: so the indexers must at least have committed these offsets.
   */
  async untilRejectedAreCommitted(serving: Generation, limit: WaitLimit): Promise<void> {
    const targets = new Map(
      this.#pipeline
        .documentPartitions()
        .map((partition) => [partitionName(partition), partition.start.position as bigint]),
    )
    for (const [name, offset] of this.#pipeline.rejectedBelow)
      if (offset > (targets.get(name) ?? 0n)) targets.set(name, offset)
    await untilCommittedPast(this.#tools, serving, targets, limit)
  }

  /** For a wait without a deadline, which fails if something disturbs the rebuild. Example: another rebuild has switched. */
  whileUndisturbed(): WaitLimit {
    const afterPoll = async (waitedMs: number): Promise<void> => {
      if (waitedMs % checkMs === 0) await this.expectUndisturbed()
    }
    return { deadlineMs: Number.POSITIVE_INFINITY, afterPoll }
  }

  /** Throws like `expectStillOwned`, and `MixedLogs` if a log was replaced while it was read. */
  async expectUndisturbed(): Promise<void> {
    await this.expectStillOwned()
    if (this.#hasAppendTimes) await this.#expectSameLogs()
  }

  /** Throws if the generation was deleted, or taken over by another rebuild. */
  async expectStillOwned(): Promise<void> {
    const { number, tag, writeAliases } = this.#generation
    const filled = (await generationsOf(this.#tools).find()).find(({ complete }) => complete?.tag === tag)
    if (filled === undefined) throw new Error(`generation ${number} was deleted: run the rebuild again`)
    if (filled.indices.some(({ kind, state }) => state.aliases?.[writeAliases[kind]] === undefined))
      throw new Error(`another rebuild fills generation ${number}: run one again`)
  }

  /** Waits while a log is doubted: a former leader may have answered. */
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
   * Publishes the records in flight, and leaves the group. Resolves with false if a write may still be in flight: then the rebuild must not switch, since the
   * document would appear without a new list version.
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

/** Deletes the generation unless it has served. */
export async function removeFilled(options: CommandTools, { tag }: Generation): Promise<void> {
  const generations = generationsOf(options)
  const filled = (await generations.find()).find(({ complete }) => complete?.tag === tag && !complete.hasServed)
  if (filled !== undefined) await generations.delete(filled)
}

export const generationsOf = (
  { config, elasticsearch, signal }: CommandTools,
  requestTimeout = requestTimeoutMs,
): Generations => new Generations(elasticsearch, config, { signal, requestTimeout })

/** Throws if another rebuild runs. Waits until the session and the lock of a killed one have expired. */
export async function expectAlone({ source, config, redis, signal }: CommandTools): Promise<void> {
  // A rebuild acquires the lock, then leaves the group. If the lock were checked first, a rebuild that does both between the checks would not be noticed.
  const isAlone = async () =>
    (await source.groupMembers(rebuildGroup(config.CONSUMER_GROUP))).length === 0 && !(await isSwitchLocked(redis))
  if (!(await until(isAlone, groupDeadlineMs, signal, pollMs))) throw new Error('another rebuild is running')
}
