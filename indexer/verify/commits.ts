import { partitionName, type TopicPartition } from '../../src/core/kafka/sourceRecord.ts'
import type { Offset } from '../../src/core/model/ids.ts'
import { fetchStartOffsets, rebuildGroup } from '../committedOffsets.ts'
import { findGenerations, type Generation } from '../generations/generations.ts'
import { documentTopics } from '../topics.ts'
import { NotJudged, type VerifyOptions } from './verifyOptions.ts'

const requestTimeoutMs = 30_000

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
export async function noteCommits(options: VerifyOptions): Promise<Commits> {
  const { config, source, elasticsearch, signal } = options
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
export async function expectUnchanged(options: VerifyOptions, { generation, partitions }: Commits): Promise<void> {
  const now = await noteCommits(options)
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

/** The partitions of a topic with the offsets between two of their marks. */
export const rangesOf = (
  partitions: Iterable<CommittedPartition>,
  topic: string,
  from: 'low' | 'committed',
  to: 'committed' | 'high',
): Map<number, { readonly from: bigint; readonly to: bigint }> =>
  new Map(
    [...partitions].flatMap((each) =>
      each.topic === topic && each[from] < each[to] ? [[each.partition, { from: each[from], to: each[to] }]] : [],
    ),
  )

/** Notes which records were appended since the first note: the same commits, with the present ends. */
export async function withPresentEnds(
  { config, source }: Pick<VerifyOptions, 'config' | 'source'>,
  { partitions }: Commits,
): Promise<CommittedPartition[]> {
  const ranges = await source.offsetRanges(documentTopics(config))
  return [...partitions.values()].map((each) => ({
    ...each,
    high: (ranges.get(partitionName(each))?.high ?? each.high) as Offset,
  }))
}
