import type { estypes } from '@elastic/elasticsearch'
import {
  type DocumentKind,
  documentKinds,
  entityTypeOf,
  type Indices,
  kindsOf,
  type PhysicalIndex,
} from '../../src/core/elasticsearch/indices.ts'
import { multiGet, readWhole, type StoredDocument, scan } from '../../src/core/elasticsearch/readDocuments.ts'
import { type DocumentId, type EntityType, entityTypes } from '../../src/core/model/ids.ts'
import { endOfPositions, type LogPosition, logPosition, partitionOf } from '../../src/core/model/logPosition.ts'
import { comparedOf, type DocumentComparison } from './compareDocuments.ts'
import { hasPartition } from './share.ts'
import type { VerifyContext } from './verifyContext.ts'

const maxPartDocuments = 250

/** Reads every document of the indices, each index in one snapshot. If the context has a team, reads only documents with its routing. */
export async function readIndices(
  context: VerifyContext,
  indices: Indices,
  comparison: DocumentComparison,
): Promise<void> {
  for (const kind of documentKinds)
    for await (const documents of readIndex(context, indices, kind, ofTeam(context)))
      for (const document of documents) {
        comparison.setDocument(comparedOf(kind, document))
        await context.pauseAfterWork()
      }
}

/**
 * Reads the documents of the context's share: list documents by the partition of their position, and the detail documents of the same entities. The first
 * share also reads the list documents without a position: tombstones that a rebuild has copied from a replaced log.
 *
 * `partitions`: for each type of entities, the numbers of all partitions of its topic.
 */
export async function readShareOfIndices(
  context: VerifyContext,
  indices: Indices,
  partitions: Readonly<Record<EntityType, readonly number[]>>,
  comparison: DocumentComparison,
): Promise<void> {
  const { elasticsearch, pauseAfterWork, signal } = context
  for (const type of entityTypes) {
    const [list, detail] = kindsOf[type]
    const filters = [...ofTeam(context), ofShare(context, partitions[type])]
    for await (const documents of readIndex(context, indices, list, filters)) {
      for (const document of documents) comparison.setDocument(comparedOf(list, document))
      const ids = documents.map(({ id }) => id)
      for await (const details of readWhole(elasticsearch, indices[detail], ids, { signal })) {
        for (const document of details) comparison.setDocument(comparedOf(detail, document))
        await pauseAfterWork()
      }
    }
  }
}

/**
 * Reads the differing documents a second time: at the first reading, a write may have been in flight. Searches only the shard of each document's team. For a
 * document in another shard, the first reading counts.
 */
export async function readAgain(
  context: VerifyContext,
  indices: Indices,
  kind: DocumentKind,
  ids: readonly DocumentId[],
  comparison: DocumentComparison,
): Promise<void> {
  const { elasticsearch, signal } = context
  const others = await inOtherShares(context, indices[kindsOf[entityTypeOf(kind)][0]], ids)
  for await (const documents of readWhole(elasticsearch, indices[kind], ids, { signal }))
    for (const document of documents) comparison.setDocument(comparedOf(kind, document), others.has(document.id))
}

async function* readIndex(
  { elasticsearch, report, signal }: VerifyContext,
  indices: Indices,
  kind: DocumentKind,
  filter: estypes.QueryDslQueryContainer[],
): AsyncGenerator<StoredDocument[]> {
  const query = { bool: { filter } }
  const { count } = await elasticsearch.count({ index: indices[kind], query }, { signal })
  let documentsRead = 0
  for await (const part of scan(elasticsearch, indices[kind], { query, size: maxPartDocuments }, { signal })) {
    yield part
    documentsRead += part.length
    report.progress(`${kind} read`, documentsRead, count)
  }
}

/** Finds the documents of the context's team; without a team, all. */
export const ofTeam = ({ team }: VerifyContext): estypes.QueryDslQueryContainer[] =>
  team === undefined ? [] : [{ term: { _routing: team } }]

function ofShare({ share }: VerifyContext, partitions: readonly number[]): estypes.QueryDslQueryContainer {
  const positionsIn = (partition: number): estypes.QueryDslQueryContainer => ({
    range: { logPosition: { gte: logPosition({ partition, offset: 0n }), lt: endOfPositions(partition) } },
  })
  const own = partitions.filter((partition) => hasPartition(share, partition)).map(positionsIn)
  const notInPartitions = { bool: { must_not: partitions.map(positionsIn) } }
  return {
    bool: { should: share.number === 0 ? [...own, notInPartitions] : own, minimum_should_match: 1 },
  }
}

/**
 * The entities whose list documents have positions in partitions of other shares. Records of such an entity are in several partitions, as happens when partitions
 * are added.
 */
async function inOtherShares(
  { elasticsearch, share, signal }: VerifyContext,
  list: PhysicalIndex,
  ids: readonly DocumentId[],
): Promise<ReadonlySet<DocumentId>> {
  if (share.count === 1) return new Set()
  const documents = await multiGet(elasticsearch, list, ids, ['logPosition'], { signal })
  const inOthers = documents.filter((document) => {
    const { logPosition: position } = JSON.parse(document?.source ?? '{}') as { logPosition?: LogPosition }
    return position !== undefined && !hasPartition(share, partitionOf(position))
  })
  return new Set(inOthers.flatMap((document) => document?.id ?? []))
}
