import { partitionName, type SourceRecord, type TopicPartition } from '../../src/core/kafka/sourceRecord.ts'
import { documentId, type Offset } from '../../src/core/model/ids.ts'
import { readKey } from '../../src/core/model/record.ts'
import { entityTypeOf } from '../../src/core/stores/indices.ts'
import { convertRecord } from '../convertRecord.ts'
import type { Generation } from '../generations/generation.ts'
import { Generations } from '../generations/generations.ts'
import { fetchStartOffsets, rebuildGroup } from '../startOffsets.ts'
import { documentTopics, entityTypeIn } from '../topics.ts'
import { type ComparedRecord, type DocumentComparison, deadLetterVersion, storedContentOf } from './compareDocuments.ts'
import type { VerifyContext } from './verifyContext.ts'

/** Every record from `low` to below `committed` is in the generation that serves; `high` is the offset after the last record. */
type Partition = TopicPartition & {
  readonly low: Offset
  readonly committed: Offset
  readonly high: Offset
  /** The offset after the last record that was read, and the latest append time. */
  next: bigint
  latestMs: number
  /** The latest append time in front of the first missing offset. */
  gapMs: number | undefined
}

/** The document topics, with what indexers have committed of them for the generation that serves. */
export class CommittedTopics {
  readonly generation: Generation
  readonly #context: VerifyContext
  /** By partition name. */
  readonly #partitions: ReadonlyMap<string, Partition>

  private constructor(context: VerifyContext, generation: Generation, partitions: readonly Partition[]) {
    this.#context = context
    this.generation = generation
    this.#partitions = new Map(partitions.map((each) => [partitionName(each), each]))
  }

  /** Notes which generation serves, and what is committed for it. */
  static async note(context: VerifyContext): Promise<CommittedTopics> {
    const { config, source, elasticsearch, signal } = context
    const generation = await new Generations(elasticsearch, config, { signal }).serving()
    if (generation === undefined) throw new Error('no complete generation of indices serves')
    if (!generation.hasCurrentMappings)
      throw new Error(`generation ${generation.number} has mappings of another release, or of another INDEX_ANSWERS`)
    const topics = documentTopics(config)
    const starts = await fetchStartOffsets(source, [...(await source.offsetRanges(topics)).values()], {
      topics,
      groupId: config.CONSUMER_GROUP,
      rebuildGroupId: rebuildGroup(config.CONSUMER_GROUP),
      generationOf: () => generation,
      keptLogs: new Map(),
      indexedLogs: async () => new Map(),
      clock: Date.now,
    })
    // After the commits, so that no commit is above the noted end of its partition.
    const ranges = await source.offsetRanges(topics)
    const partitions = [...ranges].map(([name, { topic, partition, low, high }]): Partition => {
      const start = starts.get(name)
      if (start === undefined || (start.position <= low && low < high))
        throw new Error(`no indexer has committed ${name} for generation ${generation.number} yet`)
      return {
        ...{ topic, partition, low: low as Offset, committed: start.position, high: high as Offset },
        ...{ next: low, latestMs: Number.NEGATIVE_INFINITY, gapMs: undefined },
      }
    })
    return new CommittedTopics(context, generation, partitions)
  }

  /** Throws unless at least as much is committed as was noted: for the same generation, of the same partitions. */
  async expectUnchanged(): Promise<void> {
    const now = await CommittedTopics.note(this.#context)
    if (now.generation.tag !== this.generation.tag)
      throw new Error(`generation ${now.generation.number} serves meanwhile, not ${this.generation.number}`)
    for (const [name, { low, committed, high }] of this.#partitions) {
      const each = now.#partitions.get(name)
      // The first offset of a topic only grows.
      if (each === undefined || each.low < low || each.high < high || each.committed < committed)
        throw new Error(`${name} was created anew, or its commits were set back, meanwhile`)
    }
    if (now.#partitions.size > this.#partitions.size) throw new Error('a partition was added meanwhile')
  }

  /** How many records no indexer had committed when the comparison began. */
  get uncommitted(): number {
    return [...this.#partitions.values()].reduce((sum, { high, committed }) => sum + Number(high - committed), 0)
  }

  /** Adds every committed record to a comparison. */
  async readCommitted(comparison: DocumentComparison): Promise<void> {
    await this.#readOn('records read', ({ committed }) => committed, comparison)
  }

  /** Adds what was appended since the last reading. */
  async readAppended(what: string, comparison: DocumentComparison): Promise<void> {
    const { config, source } = this.#context
    const ranges = await source.offsetRanges(documentTopics(config))
    await this.#readOn(what, (each) => ranges.get(partitionName(each))?.high ?? each.high, comparison)
  }

  async #readOn(what: string, endOf: (partition: Partition) => bigint, comparison: DocumentComparison): Promise<void> {
    const { config, source, report, rest, signal } = this.#context
    const unread = [...this.#partitions.values()].filter((each) => each.next < endOf(each))
    const total = unread.reduce((sum, each) => sum + Number(endOf(each) - each.next), 0)
    let done = 0
    for (const topic of documentTopics(config)) {
      const ofTopic = unread.filter((each) => each.topic === topic)
      const ranges = new Map(ofTopic.map((each) => [each.partition, { from: each.next, to: endOf(each) }]))
      if (ranges.size === 0) continue
      await source.readTopic({
        ...{ topic, ranges, signal },
        onRecord: async (record) => {
          const partition = this.#partitions.get(partitionName(record))
          if (partition === undefined) return
          // What compaction has removed counts as read.
          done += Number(record.offset + 1n - partition.next)
          const read = this.#comparedOf(record, partition)
          if (read !== undefined) comparison.addRecord(read)
          report.progress(what, done, total)
          await rest()
        },
      })
    }
    report.progress(what, total, total)
  }

  /** Undefined where a record names no entity, or one of another team. */
  #comparedOf(record: SourceRecord, from: Partition): ComparedRecord | undefined {
    const { team, config } = this.#context
    const { partition, offset } = record
    const changedAtLeastMs = changedAtLeast(from, record)
    if (team !== undefined && record.key?.toString('latin1').startsWith(`${team}/`) !== true) return undefined
    const read = { partition, offset, changedAtLeastMs, isCommitted: Number(offset < from.committed) }
    const projection = convertRecord(record, config)
    if (projection.kind === 'documents') {
      const [list, detail] = projection.documents
      if (list === undefined || detail === undefined) return undefined
      const digests = { list: storedContentOf(list).digest, detail: storedContentOf(detail).digest }
      return { type: entityTypeOf(list.kind), id: list.id, version: list.version, ...digests, ...read }
    }
    const key = readKey(record.key)
    if (!key.ok) return undefined
    const type = entityTypeIn(record.topic, config)
    const id = documentId(key.value.teamId, key.value.entityId)
    return { type, id, version: deadLetterVersion, list: null, detail: null, ...read }
  }
}

/**
 * The lowest `changedAt` that documents of the next record of a partition may have: its append time, unless compaction may have removed an
 * equal record that was appended before it. Offsets are missing then, and what was there was not appended before the record in front of
 * the first gap.
 */
function changedAtLeast(partition: Partition, { offset, appendedAtMs }: SourceRecord): number {
  if (offset > partition.next) partition.gapMs ??= partition.latestMs
  partition.next = offset + 1n
  partition.latestMs = Math.max(partition.latestMs, appendedAtMs)
  return Math.min(appendedAtMs, partition.gapMs ?? appendedAtMs)
}
