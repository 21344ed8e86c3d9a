import { setTimeout as sleep } from 'node:timers/promises'
import { type Indices, kindsOf, type PhysicalIndex } from '../../src/core/elasticsearch/indices.ts'
import { multiGet, scan } from '../../src/core/elasticsearch/readDocuments.ts'
import { type DocumentId, entityTypes } from '../../src/core/model/ids.ts'
import type { DifferenceReport } from './differenceReport.ts'
import { ofTeam } from './readIndices.ts'
import type { VerifyContext } from './verifyContext.ts'

const idsPerRequest = 2_000
/** So many ids take a few megabytes. */
const maxUnlisted = 20_000
/** Longer than the bulk request in which an indexer writes both documents of an entity. */
const pauseMs = 1_000

/**
 * Reports the detail documents without a list document, which `readShareOfIndices` reads in no share: only list documents have positions. Each share searches
 * one slice (a part of equal size) of all detail documents.
 *
 * Whether the list document exists is read twice: an indexer may write both documents between the search and the first reading. Ids wait in memory for the
 * second reading. When there are 20,000, these are read again and reported at once: so memory stays bounded even if every list document is lost.
 */
export async function reportUnlistedDetails(
  context: VerifyContext,
  indices: Indices,
  differences: DifferenceReport,
): Promise<void> {
  const { elasticsearch, share, pauseAfterWork, signal } = context
  // Only for several shares: Elasticsearch refuses `max: 1`.
  const slice = { id: String(share.number), max: share.count }
  for (const type of entityTypes) {
    const [list, detail] = kindsOf[type]
    const reportStillUnlisted = async (ids: readonly DocumentId[]): Promise<void> => {
      if (ids.length > 0) await sleep(pauseMs, undefined, { signal })
      for (let start = 0; start < ids.length; start += idsPerRequest)
        for (const id of await withoutDocument(context, indices[list], ids.slice(start, start + idsPerRequest)))
          differences.add({ kind: 'unlisted-detail', id, where: detail, detail: `has no document in ${list}` })
    }
    const search = { query: { bool: { filter: ofTeam(context) } }, slice, size: idsPerRequest, _source: false }
    let unlisted: DocumentId[] = []
    for await (const details of scan(elasticsearch, indices[detail], search, { signal })) {
      const ids = details.map(({ id }) => id)
      unlisted.push(...(await withoutDocument(context, indices[list], ids)))
      if (unlisted.length >= maxUnlisted) {
        await reportStillUnlisted(unlisted)
        unlisted = []
      }
      await pauseAfterWork()
    }
    await reportStillUnlisted(unlisted)
  }
}

async function withoutDocument(
  { elasticsearch, signal }: VerifyContext,
  index: PhysicalIndex,
  ids: readonly DocumentId[],
): Promise<DocumentId[]> {
  const documents = await multiGet(elasticsearch, index, ids, [], { signal })
  return ids.filter((_, number) => documents[number] === undefined)
}
