import type { Client } from '@elastic/elasticsearch'
import { aliasOf, documentKinds, readPhysicalName } from '../../src/core/stores/indices.ts'

/** The size of an index. */
export type IndexSurvey = {
  readonly name: string
  readonly generation: number
  /** Includes the tombstones of deleted entities. */
  readonly documents: number
  /** Of all shard copies together. */
  readonly bytes: number
}

const requestTimeoutMs = 10_000

/** Reads the sizes of all indices of a prefix, of every generation, from Elasticsearch. Rejects while there are none. */
export async function surveyIndices(client: Client, prefix: string, signal: AbortSignal): Promise<IndexSurvey[]> {
  const { indices = {} } = await client.indices.stats(
    {
      index: documentKinds.map((kind) => `${aliasOf(prefix, kind)}-v*`),
      metric: ['docs', 'store'],
      filter_path: 'indices.*.primaries.docs.count,indices.*.total.store.size_in_bytes',
    },
    { requestTimeout: requestTimeoutMs, signal },
  )
  const found = Object.entries(indices)
    .flatMap(([name, { primaries, total }]): IndexSurvey[] => {
      const read = readPhysicalName(prefix, name)
      if (read === undefined) return []
      const { generation } = read
      const documents = primaries?.docs?.count ?? 0
      return [{ name, generation, documents, bytes: total?.store?.size_in_bytes ?? 0 }]
    })
    .sort((a, b) => a.generation - b.generation || a.name.localeCompare(b.name))
  if (found.length === 0) throw new Error('there are no indices yet')
  return found
}
