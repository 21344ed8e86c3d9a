import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { KafkaSource } from '../../src/core/kafka/source.ts'
import { partitionName, type TopicPartition } from '../../src/core/kafka/sourceRecord.ts'
import { randomToken } from '../../src/core/model/ids.ts'
import { replaceChangeTokens } from '../../src/core/stores/listVersions.ts'
import { markPending, settlePending } from '../../src/core/stores/pendingMarks.ts'
import { claimPartitions, noteRaised, readClaimant, redisTimeMs } from '../../src/core/stores/watermark.ts'
import type { AccountKeys } from '../accountKeys.ts'
import type { Retries } from '../backoff.ts'
import type { DeadLetterWriter } from '../deadLetters/deadLetters.ts'
import type { PipelineMetrics } from '../metrics.ts'
import { Pipeline } from '../pipeline.ts'
import { fetchCommittedOffsets, rebuildGroup } from '../startOffsets.ts'
import { documentTopics, readTopicRules, sourceTopics, type TopicRules } from '../topics.ts'
import type { RoundResult } from '../watermarkPublisher.ts'
import { ServedGeneration, type Stores } from './servedGeneration.ts'

/** How often it is checked that the generation is still the one to write. */
const generationCheckMs = 1_000
/** How often the settings of the topics are read. */
const rulesCheckMs = 60_000

type GenerationRunnerDeps = {
  readonly stores: Stores
  readonly source: KafkaSource
  readonly accountKeys: AccountKeys
  readonly deadLetters: DeadLetterWriter
  readonly metrics: PipelineMetrics
  readonly retries: Retries
  readonly log: Logger
  /** Aborts when the process is asked to stop. */
  readonly stopping: AbortSignal
  /** Aborts when the process has published its last records. */
  readonly closing: AbortSignal
  /** Called with a bug. */
  fail(error: unknown): void
}

/** Runs the pipeline of the generation to be written. When that generation is retired or lost, it goes on with the next one. */
export class GenerationRunner {
  readonly #deps: GenerationRunnerDeps
  /** The generation that is written, and what writes it; undefined before the first one is opened. */
  #current: { readonly served: ServedGeneration; readonly pipeline: Pipeline } | undefined
  /** The greatest watermark that this process has published, of any generation: Redis may lose it. */
  #highestMs: number | undefined
  /** Whether the last round promised nothing, because deletions may have been missed. */
  #isWithheld = false
  #rules: TopicRules = { hasAppendTimes: true, forgetful: {}, keptMs: {} }

  constructor(deps: GenerationRunnerDeps) {
    this.#deps = deps
  }

  /** Runs until the process is asked to stop. Where brokers stamp no append times, there is no watermark. */
  async run(rules: TopicRules): Promise<void> {
    const { retries, log, stopping } = this.#deps
    this.#rules = rules
    while (!stopping.aborted) {
      const served = await retries.untilDone('preparing indices', () => this.#openGeneration(), stopping)
      const pipeline = this.#createPipeline(served, rules.hasAppendTimes)
      this.#current = { served, pipeline }
      log.info({ generation: served.generation.number }, 'generation opened for writing')
      const ended = AbortSignal.any([stopping, served.left])
      const watching = this.#watch(served, ended)
      await pipeline.run(ended)
      await watching
      if (stopping.aborted) return
      log.info({ generation: served.generation.number }, 'generation is retired or lost')
      await pipeline
        .shutDown()
        .catch((error: unknown) => log.warn({ err: error }, 'left the consumer group without a final commit'))
    }
  }

  /** Publishes what is in flight and leaves the group. */
  async stop(): Promise<void> {
    await this.pipeline?.shutDown()
  }

  get served(): ServedGeneration | undefined {
    return this.#current?.served
  }

  get pipeline(): Pipeline | undefined {
    return this.#current?.pipeline
  }

  /** Why deletions may have been missed, so that no watermark is promised; undefined while there is no such reason. */
  missedReason(): string | undefined {
    const policies = Object.entries(this.#rules.forgetful).map(
      ([topic, policy]) => `${topic} has cleanup.policy=${policy}`,
    )
    const assigned = this.pipeline?.consumer.assigned() ?? []
    const missed = assigned.filter(({ coverage }) => coverage.mayHaveMissed).map(partitionName)
    const read = `${missed.join(', ')} may have been read later than Kafka keeps deletions, so that a rebuild is needed`
    const reasons = [...policies, ...(missed.length > 0 ? [read] : [])]
    return reasons.length > 0 ? `no watermark is promised: ${reasons.join('; ')}` : undefined
  }

  async #openGeneration(): Promise<ServedGeneration> {
    const { stores, source, closing } = this.#deps
    const { CONSUMER_GROUP: group } = stores.config
    this.#rules = await readTopicRules(source, stores.config)
    const topics = documentTopics(stores.config)
    const commits = {
      own: [...(await fetchCommittedOffsets(source, group, topics)).values()],
      rebuilt: [...(await fetchCommittedOffsets(source, rebuildGroup(group), topics)).values()],
    }
    return await ServedGeneration.open(stores, commits, Date.now, closing)
  }

  #createPipeline(served: ServedGeneration, hasAppendTimes: boolean): Pipeline {
    const { stores, source, accountKeys, deadLetters, metrics, log, fail } = this.#deps
    const { config, elasticsearch, redis } = stores
    return new Pipeline({
      config,
      source,
      elasticsearch,
      generation: served.generation,
      groupId: config.CONSUMER_GROUP,
      topics: sourceTopics(config),
      // Account keys are not in the indices; a deletion of one is a record that compaction keeps.
      keptMs: (topic) => this.#rules.keptMs[topic] ?? Number.POSITIVE_INFINITY,
      claim: async (partitions) => {
        const owner = randomToken()
        return { owner, ...(await claimPartitions(redis, owner, partitions.map(partitionName), this.#highestMs)) }
      },
      isDisplaced: async (owner, partition) => {
        const claimant = await readClaimant(redis, partitionName(partition))
        return claimant !== undefined && claimant !== owner
      },
      serving: {
        rebuildGroupId: rebuildGroup(config.CONSUMER_GROUP),
        ...{ deadLetters, accountKeys },
        redis: {
          replaceChangeTokens: (lists) => replaceChangeTokens(redis, lists),
          markPending: (marks) => markPending(redis, marks),
          settlePending: (marks) => settlePending(redis, marks),
          redisTimeMs: () => redisTimeMs(redis),
          // Without append times there are no watermarks below which a record could fall.
          noteRaised: async (changedAtRaisedByMs) =>
            hasAppendTimes ? noteRaised(redis, changedAtRaisedByMs) : undefined,
          publishWatermarks: (owner, watermarks, known) =>
            hasAppendTimes ? this.#publishWatermarks(served, owner, watermarks, known) : served.serveWithoutWatermark(),
        },
      },
      metrics,
      log,
      fail,
    })
  }

  /** Partitions can be added to a topic at any time; until one is read, it holds the watermark back. */
  async #publishWatermarks(
    served: ServedGeneration,
    owner: string,
    watermarks: ReadonlyMap<string, number>,
    known: ReadonlyMap<string, TopicPartition>,
  ): Promise<RoundResult> {
    const documents = documentTopics(this.#deps.stores.config)
    const everyPartition = [...known].flatMap(([name, { topic }]) => (documents.includes(topic) ? [name] : []))
    const ofDocuments = new Map([...watermarks].filter(([name]) => everyPartition.includes(name)))
    const reason = this.missedReason()
    if (reason !== undefined && !this.#isWithheld) this.#deps.log.warn(reason)
    this.#isWithheld = reason !== undefined
    const result = await served.publish(owner, everyPartition, ofDocuments, this.#highestMs, this.#isWithheld)
    this.#highestMs = served.watermarkMs ?? this.#highestMs
    return result
  }

  /** Looks whether it is still the generation to write, until it has `ended`. A look that fails shows nothing. */
  async #watch(served: ServedGeneration, ended: AbortSignal): Promise<void> {
    for (let rulesReadAtMs = performance.now(); !ended.aborted; ) {
      await sleep(generationCheckMs, undefined, { signal: ended }).catch(() => undefined)
      if (performance.now() - rulesReadAtMs > rulesCheckMs) {
        rulesReadAtMs = performance.now()
        this.#rules = await readTopicRules(this.#deps.source, this.#deps.stores.config).catch(() => this.#rules)
      }
      if (!ended.aborted) await served.isCurrent().catch(() => false)
    }
  }
}
