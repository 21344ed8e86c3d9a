import { aliasOf, documentKinds } from '../../core/stores/indices.ts'
import { countOnly } from './clauses.ts'
import { readAnswer, totalOf } from './hits.ts'
import type { SearchClient } from './searchClient.ts'
import { ReplicaUnavailable } from './unavailable.ts'

/** Resolves when every index answers in full; rejects with `ReplicaUnavailable`. */
export async function probe({ indexPrefix, ask }: SearchClient, signal: AbortSignal): Promise<void> {
  const aliases = documentKinds.map((kind) => aliasOf(indexPrefix, kind))
  const { isFound, bytes } = await ask(
    {
      method: 'POST',
      path: `/${aliases.join(',')}/_search`,
      querystring: { allow_partial_search_results: false },
      body: countOnly,
    },
    signal,
  )
  if (!isFound) throw new ReplicaUnavailable('missing-index', aliases.join(', '))
  totalOf(readAnswer(bytes))
}
