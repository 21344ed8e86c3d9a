import { type Clause, createdWithin, type Filters, type TimeSpan } from './clauses.ts'
import { longestStepMs, type TimeStep } from './findPage.ts'
import { type RowKey, totalOf } from './hits.ts'
import type { ListSnapshot, SortValues } from './listSnapshot.ts'
import { ElasticsearchUnavailable, type RunQuery } from './searchClient.ts'

export type WalkedSnapshot = Pick<ListSnapshot, 'countsOf' | 'keys'>

/**
 * The keys of all rows of the first filter that finds any, newest first, at most `limit` at once. Rejects also if there are fewer rows than
 * were counted. Elasticsearch collects all rows that a search matches, also those before the one that it goes on after. So each search is
 * of a window of created time that holds about `limit` rows. Rows of one millisecond are collected again for each of their pages.
 */
export async function* walkList(
  snapshot: WalkedSnapshot,
  filters: Filters,
  limit: number,
  runQuery: RunQuery,
): AsyncGenerator<readonly RowKey[], void, undefined> {
  for (const filter of filters) {
    const steps = await runQuery((signal) => snapshot.countsOf(filter, signal).countByTime(undefined, longestStepMs))
    for (const span of spansOf(steps, limit)) yield* walkSpan(snapshot, filter, span, limit, runQuery)
    if (steps.length > 0) return
  }
}

type CountedSpan = TimeSpan & { readonly count: number }

/** The same as few spans: neighbouring steps that have no more than `limit` rows together are one. */
function spansOf(steps: readonly TimeStep[], limit: number): readonly CountedSpan[] {
  const spans: CountedSpan[] = []
  for (const { startMs, count } of steps) {
    const last = spans.at(-1)
    const isJoined = last !== undefined && last.count + count <= limit
    if (isJoined) spans[spans.length - 1] = { ...last, fromMs: startMs, count: last.count + count }
    else spans.push({ fromMs: startMs, toMs: startMs + longestStepMs - 1, count })
  }
  return spans
}

async function* walkSpan(
  snapshot: WalkedSnapshot,
  filter: readonly Clause[],
  { fromMs: oldestMs, toMs: newestMs, count }: CountedSpan,
  limit: number,
  runQuery: RunQuery,
): AsyncGenerator<readonly RowKey[], void, undefined> {
  let [left, toMs, after] = [count, newestMs, undefined as SortValues | undefined]
  let density = 0
  while (left > 0 && toMs >= oldestMs) {
    // As long as if the rows of the span were spread evenly, or shorter where the window before held more.
    const windowMs = Math.min(((newestMs - oldestMs) * limit) / count, limit / density)
    const window = { fromMs: Math.max(oldestMs, Math.ceil(toMs - windowMs)), toMs }
    const range = { clause: createdWithin(window), skip: 0 }
    const { found, last, total } = await runQuery((signal) => snapshot.keys(filter, range, limit, signal, after))
    density = totalOf({ total }) / (toMs - window.fromMs + 1)
    const oldest = found.at(-1)
    const isFull = oldest !== undefined && found.length === limit
    // A position begins with the created time.
    ;[toMs, after] = isFull ? [Date.parse(oldest.position.split('|')[0] ?? ''), last] : [window.fromMs - 1, undefined]
    left -= found.length
    if (found.length > 0) yield found
  }
  if (left !== 0) throw new ElasticsearchUnavailable('partial', `${left} rows of ${count} are missing`)
}
