import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { KafkaSource } from '../../src/core/kafka/source.ts'
import { partitionName } from '../../src/core/kafka/sourceRecord.ts'
import { type CheckOutcome, failed, passed } from '../../src/core/monitoring/health.ts'
import { readLogStates, storeLogStates } from '../../src/core/redis/logStates.ts'
import { redisTimeMs } from '../../src/core/redis/serving.ts'
import { publishVisiblePositions } from '../../src/core/redis/visiblePositions.ts'
import type { AccountKeys } from '../accountKeys.ts'
import type { Retries } from '../backoff.ts'
import type { DeadLetterWriter } from '../deadLetters/deadLetters.ts'
import type { PipelineMetrics } from '../metrics.ts'
import { Pipeline } from '../pipeline.ts'
import { roundForRedis, withoutTimes } from '../roundForRedis.ts'
import { fetchCommittedOffsets, rebuildGroup } from '../startOffsets.ts'
import { documentTopics, readTopicRules, sourceTopics, type TopicRules } from '../topics.ts'
import { type Stores, WrittenGeneration } from './writtenGeneration.ts'

const generationCheckMs = 1_000
/** At each 60th check, the settings of the topics are read again. */
const checksPerRules = 60
const missedDeletionsPollMs = 1_000
/** How often `#watchLogs` searches for unchecked logs, and how often it checks all. */
const logPollMs = 1_000
const logCheckMs = 15_000

type GenerationRunnerDeps = Stores & {
  readonly source: KafkaSource
  readonly accountKeys: AccountKeys
  readonly deadLetters: DeadLetterWriter
  readonly metrics: PipelineMetrics
  readonly retries: Retries
  readonly log: Logger
  /** Epoch ms. */
  readonly clock: () => number
  readonly stopping: AbortSignal
  /** Aborts after `stopping`, once the records in flight are published. */
  readonly closing: AbortSignal
  /** Ends the process with an error. */
  fail(error: unknown): void
}

/**
 * Runs an indexer's pipeline for the current generation, until another one serves or the indices are lost. Then runs another pipeline for the next generation.
 */
export class GenerationRunner {
  readonly #deps: GenerationRunnerDeps
  /** Undefined while no generation is open. */
  current: { readonly written: WrittenGeneration; readonly pipeline: Pipeline } | undefined
  /** Assumed until the first reading. */
  #rules: TopicRules = { hasAppendTimes: true, wrongPolicies: {}, keptMs: {} }

  constructor(deps: GenerationRunnerDeps) {
    this.#deps = deps
  }

  /** Without append times, publishes no watermark, and checks no log. */
  async run({ hasAppendTimes }: Pick<TopicRules, 'hasAppendTimes'>): Promise<void> {
    const { retries, log, stopping } = this.#deps
    while (!stopping.aborted) {
      const written = await retries.untilDone('preparing indices', () => this.#openGeneration(), stopping)
      const pipeline = this.#createPipeline(written, hasAppendTimes)
      this.current = { written, pipeline }
      log.info({ generation: written.generation.number }, 'generation opened for writing')
      const endSignal = AbortSignal.any([stopping, written.left])
      const watches = [this.#watch(written, endSignal, hasAppendTimes)]
      watches.push(this.#replayAfterMissedDeletions(pipeline, endSignal))
      if (hasAppendTimes) watches.push(this.#watchLogs(pipeline, endSignal))
      await pipeline.run(endSignal)
      await Promise.all(watches)
      if (stopping.aborted) return
      log.info({ generation: written.generation.number }, 'generation is retired or lost')
      await pipeline
        .shutDown()
        .catch((error: unknown) => log.warn({ err: error }, 'left the consumer group without a final commit'))
      // Otherwise `/readyz` would report the failed writes to the retired generation.
      this.current = undefined
    }
  }

  get hasAppendTimes(): boolean {
    return this.#rules.hasAppendTimes
  }

  /** For `/readyz`. Fails if a deletion may have been missed. */
  deletions(): CheckOutcome {
    const reasons = Object.entries(this.#rules.wrongPolicies).map(
      ([topic, policy]) => `${topic} has cleanup.policy=${policy}`,
    )
    const partitions = this.current?.pipeline.documentPartitions() ?? []
    const readTooLate = partitions.filter(({ coverage }) => coverage.mayHaveMissed).map(partitionName)
    if (readTooLate.length > 0)
      reasons.push(
        `${readTooLate.join(', ')} may have been read after Kafka had removed deletions, so that a rebuild is needed`,
      )
    return reasons.length > 0 ? failed(`no watermark is promised: ${reasons.join('; ')}`) : passed
  }

  /** For `/readyz`. Fails if a partition has another log than the generation was read from. */
  logs(): CheckOutcome {
    const partitions = this.current?.pipeline.documentPartitions() ?? []
    const replaced = partitions.filter(({ log: readLog }) => readLog.isReplaced).map(partitionName)
    if (replaced.length === 0) return passed
    return failed(
      `another log than generation ${this.current?.written.generation.number} was read from: ${replaced.join(', ')}. The topic was deleted and created again, the log has lost its end, or TOPIC_FORMS or TOPIC_SUBMISSIONS has changed. No watermark and no change feed until \`npm run rebuild\` has run`,
    )
  }

  #mayLackDeletions(): boolean {
    return !this.deletions().ok || !this.logs().ok
  }

  async #openGeneration(): Promise<WrittenGeneration> {
    const { config, source, closing } = this.#deps
    this.#rules = await readTopicRules(source, config)
    const commitsOf = async (group: string): Promise<(string | undefined)[]> => {
      const commits = await fetchCommittedOffsets(source, group, documentTopics(config))
      return [...commits.values()].map(({ generation }) => generation)
    }
    const own = await commitsOf(config.CONSUMER_GROUP)
    const ofRebuild = await commitsOf(rebuildGroup(config.CONSUMER_GROUP))
    return await WrittenGeneration.open(this.#deps, { own, ofRebuild }, closing)
  }

  #createPipeline(written: WrittenGeneration, hasAppendTimes: boolean): Pipeline {
    const { config, elasticsearch, redis, source, accountKeys, deadLetters, metrics, log, fail } = this.#deps
    return new Pipeline({
      config,
      source,
      elasticsearch,
      metrics,
      log,
      fail,
      generation: written.generation,
      groupId: config.CONSUMER_GROUP,
      topics: sourceTopics(config),
      keptMs: (topic) => this.#rules.keptMs[topic] ?? Number.POSITIVE_INFINITY,
      redisTimeMs: () => redisTimeMs(redis),
      publishVisible: (round) => {
        // Without append times, a replaced log cannot be detected: so no watermark is published.
        const publishedRound = hasAppendTimes ? round : withoutTimes(round)
        return publishVisiblePositions(
          redis,
          roundForRedis(config, written.generation, publishedRound, this.#mayLackDeletions()),
        )
      },
      logStates: {
        store: (logs) => storeLogStates(redis, written.generation.tag, logs),
        read: () => readLogStates(redis, written.generation.tag),
      },
      serving: {
        deadLetters,
        accountKeys,
        afterRound: (published) => written.afterRound(published),
      },
    })
  }

  /**
   * Checks whether the generation was read from the present logs: within seconds after the assignment, then every 15 s. While Kafka does not answer, no further
   * log counts as replaced.
   */
  async #watchLogs(pipeline: Pipeline, endSignal: AbortSignal): Promise<void> {
    let nextCheckMs = 0
    let hasFailed = false
    while (!endSignal.aborted) {
      await sleep(logPollMs, undefined, { signal: endSignal }).catch(() => undefined)
      const hasUnchecked = pipeline
        .documentPartitions()
        .some(({ log: readLog, offsets }) => readLog.isUnchecked(offsets.progress().position))
      const isDueAtOnce = hasUnchecked && !hasFailed
      if (endSignal.aborted || (performance.now() < nextCheckMs && !isDueAtOnce)) continue
      try {
        await pipeline.checkLogs()
        hasFailed = false
      } catch (error) {
        this.#deps.log.warn({ err: error }, 'whether topics were replaced could not be checked')
        hasFailed = true
      }
      nextCheckMs = performance.now() + logCheckMs
    }
  }

  /**
   * Replays all account keys if the deletion of a key may have been missed. Does nothing if the topic's `cleanup.policy` is not `compact`: then a replay cannot
   * find the deleted keys.
   */
  async #replayAfterMissedDeletions({ consumer }: Pipeline, endSignal: AbortSignal): Promise<void> {
    const { config, accountKeys, clock, log } = this.#deps
    const topic = config.TOPIC_ACCOUNT_KEYS
    while (!endSignal.aborted) {
      const readTooLate = consumer
        .assigned()
        .filter((partition) => partition.topic === topic && partition.coverage.mayHaveMissed)
      if (readTooLate.length > 0 && !(topic in this.#rules.wrongPolicies))
        try {
          const beganAtMs = clock()
          const records = await accountKeys.replay()
          for (const { coverage } of readTooLate) coverage.coveredUntilMs = beganAtMs
          log.info({ records }, 'account keys replayed: a deletion may have been missed')
        } catch (error) {
          log.warn(
            { err: error },
            'account keys whose deletion may have been missed could not be replayed; trying again',
          )
        }
      await sleep(missedDeletionsPollMs, undefined, { signal: endSignal }).catch(() => undefined)
    }
  }

  /** Each second, `isCurrent` checks whether to write the generation on; if not, `written.left` aborts. While Elasticsearch is away, writing continues. */
  async #watch(written: WrittenGeneration, endSignal: AbortSignal, hadAppendTimes: boolean): Promise<void> {
    const { source, config, fail } = this.#deps
    for (let checks = 1; !endSignal.aborted; checks++) {
      await sleep(generationCheckMs, undefined, { signal: endSignal }).catch(() => undefined)
      if (checks % checksPerRules === 0) this.#rules = await readTopicRules(source, config).catch(() => this.#rules)
      // After its restart, the process publishes no watermark, and removes the published one.
      if (hadAppendTimes && !this.#rules.hasAppendTimes)
        fail(new Error('a document topic has lost message.timestamp.type=LogAppendTime since this indexer started'))
      if (!endSignal.aborted) await written.isCurrent().catch(() => false)
    }
  }
}
