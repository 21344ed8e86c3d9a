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

/** In one answer, which `scan` also bounds to about a megabyte. */
const maxDocumentsAtOnce = 250

/** Reads every document into the comparison, each index in one snapshot. With a team, only documents with its routing. */
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
 * Reads the list documents whose positions are in the share's partitions, and the detail documents of the same entities. Share 0 also reads the list documents
 * without a position: tombstones that a rebuild has copied from a replaced log. `partitions`: all of each type's topic.
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
    for await (const listDocuments of readIndex(context, indices, list, filters)) {
      for (const document of listDocuments) comparison.setDocument(comparedOf(list, document))
      const ids = listDocuments.map(({ id }) => id)
      for await (const detailDocuments of readWhole(elasticsearch, indices[detail], ids, { signal })) {
        for (const document of detailDocuments) comparison.setDocument(comparedOf(detail, document))
        await pauseAfterWork()
      }
    }
  }
}

/**
 * Reads the differing documents again: a write may have been in flight. Reads each only from the shard of its team: for a document in another shard, the first
 * reading counts.
 */
export async function readAgain(
  context: VerifyContext,
  indices: Indices,
  kind: DocumentKind,
  ids: readonly DocumentId[],
  comparison: DocumentComparison,
): Promise<void> {
  const { elasticsearch, signal } = context
  const [list] = kindsOf[entityTypeOf(kind)]
  const inOthers = await inOtherShares(context, indices[list], ids)
  for await (const documents of readWhole(elasticsearch, indices[kind], ids, { signal }))
    for (const document of documents) comparison.setDocument(comparedOf(kind, document), inOthers.has(document.id))
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
  for await (const documents of scan(elasticsearch, indices[kind], { query, size: maxDocumentsAtOnce }, { signal })) {
    yield documents
    documentsRead += documents.length
    report.progress(`${kind} read`, documentsRead, count)
  }
}

/** Without a team, finds all documents. */
export const ofTeam = ({ team }: VerifyContext): estypes.QueryDslQueryContainer[] =>
  team === undefined ? [] : [{ term: { _routing: team } }]

function ofShare({ share }: VerifyContext, partitions: readonly number[]): estypes.QueryDslQueryContainer {
  const positionsIn = (partition: number): estypes.QueryDslQueryContainer => ({
    range: { logPosition: { gte: logPosition({ partition, offset: 0n }), lt: endOfPositions(partition) } },
  })
  const own = partitions.filter((partition) => hasPartition(share, partition)).map(positionsIn)
  const inNoPartition = { bool: { must_not: partitions.map(positionsIn) } }
  return {
    bool: { should: share.number === 0 ? [...own, inNoPartition] : own, minimum_should_match: 1 },
  }
}

/** The entities whose list documents are in partitions of other shares: partitions were added to the topic. */
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
