import type { Config } from '../../src/core/config/config.ts'
import type { TopicPartition } from '../../src/core/kafka/sourceRecord.ts'
import type { DeadLetterWriter } from '../deadLetters/deadLetters.ts'
import type { GenerationRunner } from '../generations/generationRunner.ts'

/**
 * What stops records of this indexer:
 * - `write`: Elasticsearch has not stored the record `name` for `forMs`;
 * - `dead letter`: the record at `offset` cannot be indexed, and Kafka refuses its dead letter;
 * - `batch`: the record batch at `offset` cannot be decoded.
 */
export type Obstacle =
  | { readonly kind: 'write'; readonly name: string; readonly forMs: number; readonly reason: string }
  | (TopicPartition & { readonly kind: 'dead letter' | 'batch'; readonly offset: bigint; readonly reason: string })

/** The state of this process. Members may be undefined while no generation is open. */
export type OwnState = {
  readonly maxInFlightBytes: number
  readonly inFlightBytes: number
  readonly watermarkMs: number | undefined
  readonly clockOffsetMs: number | undefined
  readonly obstacles: readonly Obstacle[]
  /** The owned partitions. `isPaused`: by a batch that cannot be decoded, or by the breaker of the topic. */
  readonly partitions: readonly (TopicPartition & { readonly isPaused: boolean })[]
  /** Nearly all records of these topics are rejected. */
  readonly pausedTopics: readonly string[]
  readonly hasAppendTimes: boolean
  readonly generation: number | undefined
}

export function stateOf(config: Config, runner: GenerationRunner, deadLetters: DeadLetterWriter): OwnState {
  const { current, hasAppendTimes } = runner
  const assigned = current?.pipeline.consumer.assigned() ?? []
  return {
    maxInFlightBytes: config.MAX_IN_FLIGHT_BYTES,
    inFlightBytes: current?.pipeline.consumer.inFlightBytes ?? 0,
    watermarkMs: current?.written.watermarkMs,
    clockOffsetMs: current?.pipeline.publisher.clockOffsetMs,
    obstacles: obstaclesOf(runner, deadLetters),
    partitions: assigned.map(({ topic, partition, undecodable }) => ({
      topic,
      partition,
      isPaused: deadLetters.isPaused(topic) || undecodable !== undefined,
    })),
    pausedTopics: deadLetters.pausedTopics(),
    hasAppendTimes,
    generation: current?.written.generation.number,
  }
}

function obstaclesOf({ current }: GenerationRunner, deadLetters: DeadLetterWriter): Obstacle[] {
  const blocked = current?.pipeline.writer.blocked()
  const letters = deadLetters.refused().map((letter): Obstacle => ({ kind: 'dead letter', ...letter }))
  const batches = (current?.pipeline.consumer.assigned() ?? []).flatMap(
    ({ topic, partition, nextOffset, undecodable }): Obstacle[] =>
      undecodable === undefined
        ? []
        : [{ kind: 'batch', topic, partition, offset: nextOffset, reason: undecodable.message }],
  )
  return [...(blocked === undefined ? [] : [{ kind: 'write' as const, ...blocked }]), ...letters, ...batches]
}
