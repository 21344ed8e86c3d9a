import type { OffsetSpan } from '../../src/core/kafka/readTopic.ts'
import { partitionName, type SourceRecord } from '../../src/core/kafka/sourceRecord.ts'
import { documentId } from '../../src/core/model/ids.ts'
import { readKey } from '../../src/core/model/record.ts'
import { entityTypeOf } from '../../src/core/stores/indices.ts'
import { convertRecord } from '../convertRecord.ts'
import { documentTopics } from '../topics.ts'
import type { Commits, CommittedPartition } from './commits.ts'
import { type ComparedRecord, deadLetterVersion } from './comparison.ts'
import { storedContentOf } from './storedDocuments.ts'
import type { Verification } from './verification.ts'

/** A partition as far as it was read. */
type Progress = CommittedPartition & { readonly bounds: ChangeBounds; readTo: bigint }

/** Reads both document topics part by part, at a pace that leaves room for readers. */
export class RecordReader {
  readonly #verification: Verification
  readonly #onRecord: (record: ComparedRecord) => void
  /** By partition name. */
  readonly #partitions: ReadonlyMap<string, Progress>

  /** `onRecord` is called for each record of the team that names an entity. */
  constructor(verification: Verification, { partitions }: Commits, onRecord: (record: ComparedRecord) => void) {
    this.#verification = verification
    this.#onRecord = onRecord
    this.#partitions = new Map(
      [...partitions].map(([name, each]) => [name, { ...each, readTo: each.low, bounds: new ChangeBounds(each.low) }]),
    )
  }

  /** Reads on from where it has ended before, to below these offsets of each partition; `what` says what is read. */
  async readTo(ends: ReadonlyMap<string, bigint>, what: string): Promise<void> {
    const { config, source, report, pace, signal } = this.#verification
    const spans = [...ends].flatMap(([name, to]) => {
      const progress = this.#partitions.get(name)
      return progress !== undefined && progress.readTo < to ? [{ progress, from: progress.readTo, to }] : []
    })
    const total = spans.reduce((sum, { from, to }) => sum + Number(to - from), 0)
    let done = 0
    const onRecord = async (record: SourceRecord): Promise<void> => {
      done += this.#take(record)
      report.progress(what, Math.min(done, total), total)
      await pace.rest()
    }
    for (const topic of documentTopics(config)) {
      const ranges = new Map(
        spans
          .filter(({ progress }) => progress.topic === topic)
          .map(({ progress, from, to }): [number, OffsetSpan] => [progress.partition, { from, to }]),
      )
      if (ranges.size > 0) await source.readTopic({ topic, ranges, signal, onRecord })
    }
    for (const { progress, to } of spans) progress.readTo = to
    report.progress(what, total, total)
  }

  /** Returns how many offsets it has come on: what compaction has removed counts as read. */
  #take(record: SourceRecord): number {
    const progress = this.#partitions.get(partitionName(record))
    if (progress === undefined) return 0
    const { bounds, committed } = progress
    const offsets = Number(record.offset + 1n - bounds.next)
    const changedAtLeastMs = bounds.add(record)
    const { team, config } = this.#verification
    const concerns = team === undefined || record.key?.toString('latin1').startsWith(`${team}/`) === true
    const demand = concerns ? demandOf(record, config) : undefined
    if (demand !== undefined) {
      const { partition, offset } = record
      this.#onRecord({ ...demand, partition, offset, changedAtLeastMs, isCommitted: offset < committed })
    }
    return offsets
  }
}

/** What the documents of a record must be; of a dead letter, that there is one. Undefined where no entity is named. */
function demandOf(
  record: SourceRecord,
  config: Verification['config'],
): Pick<ComparedRecord, 'type' | 'id' | 'version' | 'digests'> | undefined {
  const projection = convertRecord(record, record.appendedAtMs, config)
  if (projection.kind === 'documents') {
    const [list, detail] = projection.documents
    if (list === undefined || detail === undefined) return undefined
    const digests = { list: storedContentOf(list).digest, detail: storedContentOf(detail).digest }
    return { type: entityTypeOf(list.kind), id: list.id, version: projection.version, digests }
  }
  const key = readKey(record.key)
  if (!key.ok) return undefined
  const type = record.topic === config.TOPIC_FORMS ? 'forms' : 'submissions'
  const id = documentId(key.value.teamId, key.value.entityId)
  return { type, id, version: deadLetterVersion, digests: null }
}

/**
 * The lowest `changedAt` that a document of each record of a partition may have. That is the append time of the record, unless compaction
 * may have removed an equal one that was appended before it, as records may be appended twice: where offsets are missing. What was there
 * was not appended before the record in front of the first gap.
 */
export class ChangeBounds {
  /** The offset after the last record. */
  next: bigint
  #latestMs = Number.NEGATIVE_INFINITY
  #gapMs = Number.POSITIVE_INFINITY

  /** `from`: where its reading begins. */
  constructor(from: bigint) {
    this.next = from
  }

  /** The bound of the next record, in the order of offsets. */
  add({ offset, appendedAtMs }: Pick<SourceRecord, 'offset' | 'appendedAtMs'>): number {
    if (offset > this.next) this.#gapMs = Math.min(this.#gapMs, this.#latestMs)
    this.next = offset + 1n
    this.#latestMs = Math.max(this.#latestMs, appendedAtMs)
    return Math.min(appendedAtMs, this.#gapMs)
  }
}
