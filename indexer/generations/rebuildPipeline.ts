import type { Logger } from 'pino'
import { Registry } from 'prom-client'
import type { Config } from '../../src/core/process/config.ts'
import type { Engines } from '../../src/core/stores/engines.ts'
import { rebuildGroup } from '../committedOffsets.ts'
import { pipelineMetrics } from '../metrics.ts'
import { Pipeline } from '../pipeline.ts'
import { documentTopics, type TopicRules } from '../topics.ts'
import type { Generation } from './generations.ts'
import type { WorkerProgress } from './rebuildMessages.ts'

/** Reads the partitions that the group of rebuilds gives to this process, into a generation that nobody reads yet. */
export type RebuildPipeline = {
  progress(): WorkerProgress
  /** From now on no record gets a `changedAt` below `watermarkMs`. */
  startChangesAt(watermarkMs: number): void
  /** Makes searchable what was processed so far. */
  publish(): Promise<void>
  /** Publishes what is in flight, and leaves the group. */
  stop(): Promise<void>
}

type Options = {
  readonly config: Config
  readonly engines: Engines
  readonly generation: Generation
  /** How long (ms) each topic keeps a deletion for certain. */
  readonly keptMs: TopicRules['keptMs']
  readonly log: Logger
  /** Called with the error when the pipeline stops because of a bug. */
  fail(error: unknown): void
}

/** Connects to the engines and begins to read. */
export function startRebuildPipeline({ config, engines, generation, keptMs, log, fail }: Options): RebuildPipeline {
  const elasticsearch = engines.elasticsearch(config)
  const source = engines.kafka(config, log).openSource()
  const topics = documentTopics(config)
  let changesStartAtMs: number | undefined
  const pipeline = new Pipeline({
    ...{ config, source, elasticsearch, generation, topics, log, fail },
    groupId: rebuildGroup(config.CONSUMER_GROUP),
    keptMs: (topic) => keptMs[topic] ?? Number.POSITIVE_INFINITY,
    claim: async () => ({
      owner: 'rebuild',
      // Looked up when the first record is read: it may be set after the claim.
      get watermarkMs() {
        return changesStartAtMs
      },
      partitionWatermarks: new Map(),
      changedAtRaisedByMs: 0,
    }),
    serving: undefined,
    metrics: pipelineMetrics(new Registry(), topics),
  })
  const stopping = new AbortController()
  const running = pipeline.run(stopping.signal).catch(fail)
  return {
    progress: () => ({ positions: pipeline.positions(), blockedReasons: pipeline.blockedReasons() }),
    startChangesAt: (watermarkMs) => {
      changesStartAtMs = watermarkMs
      pipeline.startChangesAt(watermarkMs)
    },
    publish: () => pipeline.publish(),
    stop: async () => {
      stopping.abort()
      await running
      await pipeline
        .shutDown()
        .catch((error: unknown) => log.warn({ err: error }, 'left the consumer group without a final commit'))
      await Promise.allSettled([source.close(), elasticsearch.close()])
    },
  }
}
