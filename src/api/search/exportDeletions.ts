import type { Clause } from './clauses.ts'
import type { ListSnapshot } from './listSnapshot.ts'
import type { RunQuery } from './runQuery.ts'
import { ElasticsearchUnavailable } from './searchClient.ts'

const deletionsPerPart = 2_000

/**
 * Yields a line for each deleted entity whose tombstone matches the filter, in no particular order. A tombstone has no created time:
 * it is found by its place in the snapshot, which needs no sorting. Rejects with `ElasticsearchUnavailable`, also if Elasticsearch
 * returns another number than it counted.
 */
export async function* exportDeletions(
  snapshot: ListSnapshot,
  filter: readonly Clause[],
  runQuery: RunQuery,
): AsyncGenerator<readonly Buffer[], void, undefined> {
  let [found, expected, after] = [0, undefined as number | undefined, undefined as number | undefined]
  for (;;) {
    const { ids, last, total } = await runQuery((signal) => snapshot.deletions(filter, after, deletionsPerPart, signal))
    expected ??= total
    if (ids.length > 0) yield ids.map((id) => Buffer.from(JSON.stringify({ id, deleted: true })))
    found += ids.length
    after = last
    if (ids.length < deletionsPerPart) break
  }
  if (found !== expected) throw new ElasticsearchUnavailable('partial', `${found} deletions of ${expected}`)
}
