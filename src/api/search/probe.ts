import { aliasOf, documentKinds } from '../../core/stores/indices.ts'
import { countOnly } from './clauses.ts'
import { readAnswer, totalOf } from './hits.ts'
import type { SearchClient } from './searchClient.ts'
import { ElasticsearchUnavailable } from './searchClient.ts'

/** Resolves if every shard of every index answers; rejects with `ElasticsearchUnavailable`. */
export async function probe({ indexPrefix, send }: SearchClient, signal: AbortSignal): Promise<void> {
  const aliases = documentKinds.map((kind) => aliasOf(indexPrefix, kind))
  const { isFound, bytes } = await send(
    {
      method: 'POST',
      path: `/${aliases.join(',')}/_search`,
      querystring: { allow_partial_search_results: false },
      body: countOnly,
    },
    signal,
  )
  if (!isFound) throw new ElasticsearchUnavailable('missing-index', aliases.join(', '))
  totalOf(readAnswer(bytes))
}
