import type { Client } from '@elastic/elasticsearch'
import { aliasOf, documentKinds, readPhysicalName } from '../../src/core/elasticsearch/indices.ts'

const requestTimeoutMs = 10_000

export type IndexSize = {
  readonly name: string
  readonly generation: number
  /** Tombstones included. */
  readonly documents: number
  /** The disk usage of all copies of its shards. */
  readonly bytes: number
}

export async function surveyIndices(client: Client, prefix: string, signal: AbortSignal): Promise<IndexSize[]> {
  const { indices = {} } = await client.indices.stats(
    {
      index: documentKinds.map((kind) => `${aliasOf(prefix, kind)}-v*`),
      metric: ['docs', 'store'],
      filter_path: 'indices.*.primaries.docs.count,indices.*.total.store.size_in_bytes',
    },
    { requestTimeout: requestTimeoutMs, signal },
  )
  const sizes = Object.entries(indices)
    .flatMap(([name, { primaries, total }]): IndexSize[] => {
      const generation = readPhysicalName(prefix, name)?.generation
      if (generation === undefined) return []
      const documents = primaries?.docs?.count ?? 0
      return [{ name, generation, documents, bytes: total?.store?.size_in_bytes ?? 0 }]
    })
    .sort((a, b) => a.generation - b.generation || a.name.localeCompare(b.name))
  if (sizes.length === 0) throw new Error('there are no indices yet')
  return sizes
}
