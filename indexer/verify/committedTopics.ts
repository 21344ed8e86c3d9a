import { entityTypeOf } from '../../src/core/elasticsearch/indices.ts'
import { partitionName, type SourceRecord, type TopicPartition } from '../../src/core/kafka/sourceRecord.ts'
import { documentId, type EntityType, type Offset } from '../../src/core/model/ids.ts'
import { readKey } from '../../src/core/model/record.ts'
import { convertRecord } from '../convertRecord.ts'
import type { Generation } from '../generations/generation.ts'
import { Generations } from '../generations/generations.ts'
import { fetchStartOffsets, rebuildGroup } from '../startOffsets.ts'
import { documentTopics, entityTypeIn } from '../topics.ts'
import { type ComparedRecord, type DocumentComparison, deadLetterVersion, storedContentOf } from './compareDocuments.ts'
import { hasPartition } from './share.ts'
import type { VerifyContext } from './verifyContext.ts'

type ComparedPartition = TopicPartition & {
  readonly low: Offset
  /** Indexers have committed every record below it for the serving generation. */
  readonly committed: Offset
  /** The end of the partition when the verification started. */
  readonly high: Offset
  /** After the last record that was read. */
  next: bigint
  /** The latest append time (epoch ms) that was read; `-Infinity` before the first record. */
  latestMs: number
  /** `latestMs` before the first gap between offsets (`changedAtLeast`); undefined without a gap. */
  latestBeforeGapMs: number | undefined
}

/** The document topics, and up to where indexers have committed them for the serving generation. */
export class CommittedTopics {
  readonly generation: Generation
  readonly #context: VerifyContext
  /** By `partitionName`; also those of other shares. */
  readonly #partitions: ReadonlyMap<string, ComparedPartition>

  private constructor(context: VerifyContext, generation: Generation, partitions: readonly ComparedPartition[]) {
    this.#context = context
    this.generation = generation
    this.#partitions = new Map(partitions.map((partition) => [partitionName(partition), partition]))
  }

  /** Throws if no generation serves, or if a partition with records has no commit for it. */
  static async read(context: VerifyContext): Promise<CommittedTopics> {
    const { config, source, elasticsearch, share, signal } = context
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
      // Replaced logs are not searched for.
      storedLogs: new Map(),
      logStatesOfDocuments: async () => new Map(),
      clock: Date.now,
    })
    if (share.count > 1 && Object.values(generation.hasCarriedOver).includes(true))
      throw new Error(
        `generation ${generation.number} has documents that a rebuild carried over from a replaced log, which name no partition: verify it without --share`,
      )
    // Read after the commits, so that no commit is above an end.
    const ranges = await source.offsetRanges(topics)
    const partitions = [...ranges].map(([name, { topic, partition, low, high }]): ComparedPartition => {
      const start = starts.get(name)
      if (start === undefined || (start.position <= low && low < high))
        throw new Error(`no indexer has committed ${name} for generation ${generation.number} yet`)
      return {
        topic,
        partition,
        low: low as Offset,
        committed: start.position,
        high: high as Offset,
        next: low,
        latestMs: Number.NEGATIVE_INFINITY,
        latestBeforeGapMs: undefined,
      }
    })
    return new CommittedTopics(context, generation, partitions)
  }

  /** Throws unless the generation still serves, with the same partitions, and no offset or commit is lower. */
  async expectUnchanged(): Promise<void> {
    const now = await CommittedTopics.read(this.#context)
    if (now.generation.tag !== this.generation.tag)
      throw new Error(`generation ${now.generation.number} serves meanwhile, not ${this.generation.number}`)
    for (const [name, { low, committed, high }] of this.#partitions) {
      const present = now.#partitions.get(name)
      // It only grows, unless the topic is created again.
      const hasGoneBack =
        present !== undefined && (present.low < low || present.high < high || present.committed < committed)
      if (present === undefined || hasGoneBack)
        throw new Error(`${name} was created anew, or its commits were set back, meanwhile`)
    }
    if (now.#partitions.size > this.#partitions.size) throw new Error('a partition was added meanwhile')
  }

  /** Of each type's topic, also of other shares. */
  partitionNumbers(): Readonly<Record<EntityType, readonly number[]>> {
    const numbers: Record<EntityType, number[]> = { forms: [], submissions: [] }
    for (const { topic, partition } of this.#partitions.values())
      numbers[entityTypeIn(topic, this.#context.config)].push(partition)
    return numbers
  }

  /** Offsets, with or without a record, that were not committed at the start. */
  get uncommitted(): number {
    return this.#partitionsOfShare().reduce((sum, { high, committed }) => sum + Number(high - committed), 0)
  }

  #partitionsOfShare(): ComparedPartition[] {
    return [...this.#partitions.values()].filter(({ partition }) => hasPartition(this.#context.share, partition))
  }

  async readCommitted(comparison: DocumentComparison): Promise<void> {
    await this.#readFurther('records read', ({ committed }) => committed, comparison)
  }

  /** Reads from where the last reading has ended to the present ends. */
  async readAppended(step: string, comparison: DocumentComparison): Promise<void> {
    const { config, source } = this.#context
    const ranges = await source.offsetRanges(documentTopics(config))
    await this.#readFurther(
      step,
      (partition) => ranges.get(partitionName(partition))?.high ?? partition.high,
      comparison,
    )
  }

  async #readFurther(
    step: string,
    endOf: (partition: ComparedPartition) => bigint,
    comparison: DocumentComparison,
  ): Promise<void> {
    const { config, source, report, pauseAfterWork, signal } = this.#context
    const unread = this.#partitionsOfShare().filter((partition) => partition.next < endOf(partition))
    const total = unread.reduce((sum, partition) => sum + Number(endOf(partition) - partition.next), 0)
    let offsetsRead = 0
    for (const topic of documentTopics(config)) {
      const spans = new Map(
        unread
          .filter((partition) => partition.topic === topic)
          .map((partition) => [partition.partition, { from: partition.next, to: endOf(partition) }]),
      )
      if (spans.size === 0) continue
      await source.readTopic({
        topic,
        spans,
        signal,
        onRecord: async (record) => {
          const partition = this.#partitions.get(partitionName(record))
          if (partition === undefined) return
          // Also counts offsets of records that compaction has removed.
          offsetsRead += Number(record.offset + 1n - partition.next)
          const comparedRecord = this.#convert(record, partition)
          if (comparedRecord !== undefined) comparison.addRecord(comparedRecord)
          report.progress(step, offsetsRead, total)
          await pauseAfterWork()
        },
      })
    }
    report.progress(step, total, total)
  }

  #convert(record: SourceRecord, readPartition: ComparedPartition): ComparedRecord | undefined {
    const { team, config } = this.#context
    const { partition, offset } = record
    // First: it also notes that the record was read.
    const changedAtLeastMs = changedAtLeast(readPartition, record)
    if (team !== undefined && record.key?.toString('latin1').startsWith(`${team}/`) !== true) return undefined
    // For SQLite.
    const isCommitted = Number(offset < readPartition.committed)
    const origin = { partition, offset, changedAtLeastMs, isCommitted }
    const conversion = convertRecord(record, config)
    if (conversion.kind === 'documents') {
      const [list, detail] = conversion.documents
      if (list === undefined || detail === undefined) return undefined
      const digests = { list: storedContentOf(list).digest, detail: storedContentOf(detail).digest }
      return { type: entityTypeOf(list.kind), id: list.id, version: list.version, ...digests, ...origin }
    }
    // The record is a dead letter.
    const key = readKey(record.key)
    if (!key.ok) return undefined
    const type = entityTypeIn(record.topic, config)
    const id = documentId(key.value.teamId, key.value.entityId)
    return { type, id, version: deadLetterVersion, list: null, detail: null, ...origin }
  }
}

/**
 * The lowest `changedAt` (epoch ms) that the documents of a record may have. To be called once for each record, in order: notes that it was read.
 * - If no offset is missing up to the record, this is its append time.
 * - Otherwise compaction may have removed, from a gap, an earlier record of the same content, and the documents have its append time. Records in front of the
 *   first gap were appended before: this is the latest append time of those, if that is lower.
 */
function changedAtLeast(partition: ComparedPartition, { offset, appendedAtMs }: SourceRecord): number {
  const isAfterGap = offset > partition.next
  if (isAfterGap) partition.latestBeforeGapMs ??= partition.latestMs
  partition.next = offset + 1n
  partition.latestMs = Math.max(partition.latestMs, appendedAtMs)
  return Math.min(appendedAtMs, partition.latestBeforeGapMs ?? appendedAtMs)
}
