import { partitionName } from '../../src/core/kafka/sourceRecord.ts'
import { Pace } from '../../src/core/model/pace.ts'
import { type GroupSurvey, recordsBehind, type SurveyedPartition } from './surveyGroup.ts'

export type WatchedPartition = SurveyedPartition & {
  /** Its last commit was not before this time (epoch ms); undefined if unknown. A round of publishing ends with a commit. */
  readonly committedAtMs: number | undefined
  /** Since when (epoch ms) its position has not moved although records wait. */
  readonly standsSinceMs: number | undefined
}

export type WatchedGroup = Omit<GroupSurvey, 'partitions'> & {
  readonly partitions: readonly WatchedPartition[]
  /** Of late, by all indexers and producers; undefined until known. */
  readonly processedPerSecond: number | undefined
  readonly appendedPerSecond: number | undefined
}

type Seen = Pick<SurveyedPartition, 'position' | 'coveredUntilMs'> &
  Pick<WatchedPartition, 'committedAtMs' | 'standsSinceMs'>

/** Compares successive surveys: Kafka does not say when an offset was committed. */
export class ProgressWatch {
  #seen = new Map<string, Seen>()
  readonly #processed = new Pace()
  readonly #appended = new Pace()

  note({ partitions, ...survey }: GroupSurvey, atMs: number): WatchedGroup {
    const seen = new Map(partitions.map((partition) => [partitionName(partition), this.#compare(partition, atMs)]))
    this.#seen = seen
    const processed = partitions.reduce((sum, { position }) => sum + Number(position), 0)
    const behind = recordsBehind(partitions)
    this.#processed.note(processed, atMs)
    this.#appended.note(processed + behind, atMs)
    return {
      ...survey,
      partitions: partitions.map((partition) => {
        const { committedAtMs, standsSinceMs } = seen.get(partitionName(partition)) ?? {}
        return { ...partition, committedAtMs, standsSinceMs }
      }),
      processedPerSecond: this.#processed.perSecond(),
      appendedPerSecond: this.#appended.perSecond(),
    }
  }

  #compare(partition: SurveyedPartition, atMs: number): Seen {
    const { position, coveredUntilMs, behindRecords } = partition
    const before = this.#seen.get(partitionName(partition))
    const hasMoved = before !== undefined && before.position !== position
    const hasCommitted = hasMoved || (before !== undefined && before.coveredUntilMs !== coveredUntilMs)
    const known = [before?.committedAtMs, coveredUntilMs].filter((ms) => ms !== undefined)
    return {
      position,
      coveredUntilMs,
      committedAtMs: hasCommitted ? atMs : known.length === 0 ? undefined : Math.max(...known),
      standsSinceMs: behindRecords === 0 || hasMoved ? undefined : (before?.standsSinceMs ?? atMs),
    }
  }
}
