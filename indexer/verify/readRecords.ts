import { randomUUID } from 'node:crypto'
import type { SourceRecord } from '../../src/core/kafka/sourceRecord.ts'
import { documentId } from '../../src/core/model/ids.ts'
import { readKey } from '../../src/core/model/record.ts'
import { projectRecord } from '../projectRecord.ts'
import { documentTopics } from '../topics.ts'
import { ChangeBounds } from './changeBounds.ts'
import { type CommittedPartition, rangesOf } from './commits.ts'
import { storedContentOf } from './content.ts'
import { deadLetterVersion, noDigest, placeOf, type RecordEntry } from './entries.ts'
import type { Pace } from './pace.ts'
import type { VerifyOptions } from './verifyOptions.ts'

/** A consumer group that nobody else uses; `security/kafka-acls.txt` names the prefix. */
export const verifyGroup = (): string => `tidemark-verify-${randomUUID()}`

type Reading = {
  readonly what: string
  readonly partitions: readonly CommittedPartition[]
  readonly from: 'low' | 'committed'
  readonly to: 'committed' | 'high'
  /** Whether a record matters, by its key. */
  concerns(key: Buffer): boolean
  onEntry(entry: RecordEntry): Promise<void> | void
}

/** Reads both document topics at a pace that leaves room for readers. */
export class RecordReader {
  readonly #options: VerifyOptions
  readonly #pace: Pace
  readonly #bounds = new ChangeBounds()

  constructor(options: VerifyOptions, pace: Pace) {
    this.#options = options
    this.#pace = pace
  }

  /** Reads the records between two marks of each partition. To be called with ascending marks. */
  async read({ what, partitions, from, to, concerns, onEntry }: Reading): Promise<void> {
    const { config, source, report, signal } = this.#options
    const total = partitions.reduce((sum, each) => sum + Math.max(0, Number(each[to] - each[from])), 0)
    let read = 0
    for (const topic of documentTopics(config)) {
      const ranges = rangesOf(partitions, topic, from, to)
      if (ranges.size === 0) continue
      const known = new Map(partitions.filter((each) => each.topic === topic).map((each) => [each.partition, each]))
      const positions = new Map([...ranges].map(([partition, range]) => [partition, range.from]))
      const onRecord = async (record: SourceRecord): Promise<void> => {
        const { partition, offset, key } = record
        // Compaction leaves gaps, which count as read.
        read += Number(offset + 1n - (positions.get(partition) ?? offset))
        positions.set(partition, offset + 1n)
        report.progress(what, read, total)
        const { low = offset, committed = offset } = known.get(partition) ?? {}
        const changedAtLeastMs = this.#bounds.next(record, low)
        const entry = key !== null && concerns(key) ? project(record, config) : undefined
        if (entry !== undefined) await onEntry({ ...entry, changedAtLeastMs, isCommitted: offset < committed })
        await this.#pace.rest()
      }
      await source.readTopic({ topic, groupId: verifyGroup(), ranges, signal, onRecord })
    }
    report.progress(what, total, total)
  }
}

/** What the documents of a record must be; of a dead letter, that there is one. Undefined where no entity is named. */
function project(
  record: SourceRecord,
  config: VerifyOptions['config'],
): Omit<RecordEntry, 'changedAtLeastMs' | 'isCommitted'> | undefined {
  const projection = projectRecord(record, record.appendedAtMs, config)
  if (projection.kind === 'invalid') return deadLetter(record, config)
  if (projection.kind !== 'documents') return undefined
  const [list, detail] = projection.documents
  if (list === undefined || detail === undefined) return undefined
  const { partition, offset } = record
  return {
    ...{ type: placeOf[list.kind].type, id: list.id, version: projection.version, partition, offset },
    digests: { list: storedContentOf(list).digest, detail: storedContentOf(detail).digest },
  }
}

function deadLetter(
  { topic, partition, offset, key }: SourceRecord,
  { TOPIC_FORMS }: VerifyOptions['config'],
): Omit<RecordEntry, 'changedAtLeastMs' | 'isCommitted'> | undefined {
  const read = readKey(key)
  if (!read.ok) return undefined
  const id = documentId(read.value.teamId, read.value.entityId)
  const type = topic === TOPIC_FORMS ? 'forms' : 'submissions'
  return { type, id, version: deadLetterVersion, partition, offset, digests: { list: noDigest, detail: noDigest } }
}
