import { setTimeout as sleep } from 'node:timers/promises'
import { Registry } from 'prom-client'
import { rebuildGroup } from '../committedOffsets.ts'
import { pipelineMetrics } from '../metrics.ts'
import { Pipeline } from '../pipeline.ts'
import type { VisiblePosition } from '../publisher.ts'
import { documentTopics, type TopicRules } from '../topics.ts'
import type { Generation } from './generations.ts'
import type { RebuildOptions } from './rebuildOptions.ts'

/** Longer than what is in flight takes to be published. */
const stopDeadlineMs = 8_500

/** Reads both topics into a generation that nobody reads yet. */
export type RebuildPipeline = {
  /** How far each partition is searchable. */
  positions(): readonly VisiblePosition[]
  /** Why it makes no progress. */
  blockedReasons(): readonly string[]
  /** From now on no record gets a `changedAt` below `watermarkMs`. */
  startChangesAt(watermarkMs: number): void
  /** Begins to make searchable what was processed so far, unless it is being done. */
  publish(): void
  /** Publishes what is in flight, and leaves the group. What takes too long is not waited for. */
  stop(): Promise<void>
}

type Options = Pick<RebuildOptions, 'config' | 'elasticsearch' | 'source' | 'log'> & {
  readonly generation: Generation
  /** How long (ms) each topic keeps a deletion for certain. */
  readonly keptMs: TopicRules['keptMs']
  /** Called with the error when the pipeline stops because of a bug. */
  fail(error: unknown): void
}

/** Begins to read. */
export function startRebuildPipeline(options: Options): RebuildPipeline {
  const { config, keptMs, log, fail } = options
  const topics = documentTopics(config)
  let changesStartAtMs: number | undefined
  const pipeline = new Pipeline({
    ...options,
    topics,
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
    // A rebuild runs alone, and nobody reads its generation.
    isDisplaced: async () => false,
    serving: undefined,
    metrics: pipelineMetrics(new Registry(), topics),
  })
  const stopping = new AbortController()
  const running = pipeline.run(stopping.signal).catch(fail)
  const shutDown = async (): Promise<void> => {
    stopping.abort()
    await running
    await pipeline
      .shutDown()
      .catch((error: unknown) => log.warn({ err: error }, 'left the consumer group without a final commit'))
  }
  let isPublishing = false
  return {
    positions: () => pipeline.positions(),
    blockedReasons: () => Object.values(pipeline.blockedReasons()),
    startChangesAt: (watermarkMs) => {
      changesStartAtMs = watermarkMs
      pipeline.startChangesAt(watermarkMs)
    },
    publish: () => {
      if (isPublishing) return
      isPublishing = true
      pipeline
        .publish()
        .finally(() => {
          isPublishing = false
        })
        // It repeats a failed round and has its error among the blocked reasons.
        .catch(() => undefined)
    },
    stop: () => Promise.race([shutDown(), sleep(stopDeadlineMs, undefined, { ref: false })]),
  }
}
