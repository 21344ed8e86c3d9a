import type { TopicPartition } from '../../src/core/kafka/sourceRecord.ts'
import type { Offset } from '../../src/core/model/ids.ts'
import { findGenerations, type Generation } from '../generations/generations.ts'
import { fetchStartOffsets, rebuildGroup } from '../startOffsets.ts'
import { documentTopics } from '../topics.ts'
import { NotJudged, requestTimeoutMs, type Verification } from './verification.ts'

/** One partition: every record from `low` to below `committed` is in the generation that serves. */
export type CommittedPartition = TopicPartition & {
  readonly low: Offset
  readonly committed: Offset
  /** The offset after its last record. */
  readonly high: Offset
}

/** What indexers promise of the indices that serve. */
export type Commits = {
  readonly generation: Generation
  /** By partition name. */
  readonly partitions: ReadonlyMap<string, CommittedPartition>
}

/** Notes which generation serves, and up to which offsets indexers have committed records for it. */
export async function noteCommits(verification: Verification): Promise<Commits> {
  const { config, source, elasticsearch, signal } = verification
  const request = { signal, requestTimeout: requestTimeoutMs }
  const found = await findGenerations(elasticsearch, config.INDEX_PREFIX, request)
  const generation = found.find(({ complete }) => complete?.isServing)?.complete
  if (generation === undefined) throw new NotJudged('no complete generation of indices serves')
  const topics = documentTopics(config)
  const starts = await fetchStartOffsets(source, [...(await source.offsetRanges(topics)).values()], {
    topics,
    groupId: config.CONSUMER_GROUP,
    rebuildGroupId: rebuildGroup(config.CONSUMER_GROUP),
    generationOf: () => generation,
    clock: Date.now,
  })
  // After the commits, so that none of them is above the end that is noted for its partition.
  const ranges = await source.offsetRanges(topics)
  const partitions = new Map<string, CommittedPartition>()
  for (const [name, { topic, partition, low, high }] of ranges) {
    const start = starts.get(name)
    if (start === undefined || (!start.isCommitted && start.position <= low && low < high))
      throw new NotJudged(`no indexer has committed ${name} for generation ${generation.number} yet`)
    partitions.set(name, {
      ...{ topic, partition, committed: start.position },
      ...{ low: low as Offset, high: high as Offset },
    })
  }
  return { generation, partitions }
}

/** Throws unless the commits still say at least what was noted: the same generation serves, of the same partitions. */
export async function expectUnchanged(verification: Verification, { generation, partitions }: Commits): Promise<void> {
  const now = await noteCommits(verification)
  if (now.generation.tag !== generation.tag)
    throw new NotJudged(`generation ${now.generation.number} serves meanwhile, not ${generation.number}`)
  for (const [name, { low, committed, high }] of partitions) {
    const each = now.partitions.get(name)
    // The first record of a topic only ever moves on.
    if (each === undefined || each.low < low || each.high < high || each.committed < committed)
      throw new NotJudged(`${name} was created anew, or its commits were set back, meanwhile`)
  }
  for (const name of now.partitions.keys())
    if (!partitions.has(name)) throw new NotJudged(`${name} was added meanwhile`)
}

/** The offset after the last record of each partition now, by partition name. */
export async function presentEnds(
  { config, source }: Verification,
  { partitions }: Commits,
): Promise<ReadonlyMap<string, bigint>> {
  const ranges = await source.offsetRanges(documentTopics(config))
  return new Map([...partitions].map(([name, { high }]) => [name, ranges.get(name)?.high ?? high]))
}
