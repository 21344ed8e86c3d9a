import type { estypes } from '@elastic/elasticsearch'
import type { PhysicalIndex } from '../../src/core/elasticsearch/indices.ts'
import { type DocumentId, teamIdOf } from '../../src/core/model/ids.ts'
import type { Instant } from '../../src/core/model/instant.ts'
import { until } from '../backoff.ts'
import type { CommandTools } from '../engineCommand.ts'
import { refreshEveryCopy } from '../refreshEveryCopy.ts'

/** A place that was searched for data of a deleted submission. */
export type Place = {
  readonly engine: 'elasticsearch' | 'kafka' | 'redis' | 'api'
  readonly name: string
  /**
   * - `removed`: this run has removed its data.
   * - `key`: it has only the key of the submission, in the record of its deletion.
   * - `memory`: data may be in the memory of processes, which do not serve them.
   * - `left`: it has data, or may have them.
   */
  readonly state: 'nothing' | 'removed' | 'key' | 'memory' | 'left'
  /** When the last data will be gone at the latest; null if there are none, or the time is unknown. */
  readonly until: Instant | null
  readonly detail: string
}

type Tools = Pick<CommandTools, 'elasticsearch' | 'report' | 'signal'>
/** The shard of a deleted document. `seqNo`: of the tombstone that replaced it. */
type Shard = Tools & { readonly index: PhysicalIndex; readonly shard: string; readonly seqNo: number }

const watchMs = 2_000
/** Longer (ms) than copies need to drop history that no copy needs (30 s), and than merges and searches in flight last. */
const waitMs = 120_000
/** A merge copies the live documents of every segment with deleted documents. */
const mergeDeadlineMs = 4 * 3_600_000
/** The percentage of deleted documents above which a merge with `only_expunge_deletes` rewrites a segment. */
const percentageSetting = 'index.merge.policy.expunge_deletes_allowed'

/**
 * Removes, from every copy of its shard, a document that a tombstone has replaced. Until then, the document is
 * - in the translog, until a flush;
 * - in a segment, until a merge rewrites this segment. A merge copies the document, too, while a copy of the shard may need the history before the tombstone
 *   for its recovery;
 * - in the file of the former segment, until the last search that reads the file ends.
 */
export async function expunge(tools: Tools, index: PhysicalIndex, id: DocumentId, seqNo: number): Promise<Place> {
  const { elasticsearch, report, signal } = tools
  const { shards } = await elasticsearch.searchShards({ index, routing: teamIdOf(id) }, { signal })
  const shard = { ...tools, index, seqNo, shard: String(shards[0]?.[0]?.shard) }
  const place = { engine: 'elasticsearch', name: index, until: null } as const
  const placeWith = (state: Place['state'], detail: string): Place => ({ ...place, state, detail })

  await flush(shard)
  report.step(`${index}: waits until no copy needs the history before the deletion, about 30 s`)
  if (!(await until(() => isForgotten(shard), waitMs, signal)))
    return placeWith('left', 'a copy that is away may need the history')
  const nodes = await nodesOf(shard)
  let rewritten = 0
  // Twice: a merge that was in flight may have copied the document into a new segment.
  for (const _ of ['first', 'second']) {
    await flush(shard)
    const suspects = await suspectsOf(shard)
    if (suspects.size === 0) break
    const isGone = async (): Promise<boolean> => {
      const now = await suspectsOf(shard)
      const goneCount = [...suspects].filter((segment) => !now.has(segment)).length
      report.progress(`${index}: segments with deletions rewritten`, goneCount, suspects.size)
      return goneCount === suspects.size
    }
    await merge(shard, isGone)
    const isFlushed = async (): Promise<boolean> => {
      await flush(shard)
      return await isGone()
    }
    if (!(await until(isFlushed, waitMs, signal))) return placeWith('left', 'segments with deletions remain: run again')
    rewritten += suspects.size
  }
  const { status, relocating_shards: moving } = await elasticsearch.cluster.health({ index, timeout: '1s' }, { signal })
  if (status !== 'green' || moving > 0)
    return placeWith('left', 'a copy is away, or moves: run again when all are there')
  if ((await nodesOf(shard)) !== nodes) return placeWith('left', 'a copy has moved: run again')
  report.step(`${index}: waits until no search reads an earlier file`)
  const isUnread = async (): Promise<boolean> =>
    (await copiesOf(shard)).every(({ search }) => (search?.open_contexts ?? 0) === 0)
  if (!(await until(isUnread, waitMs, signal)))
    return placeWith('left', 'until searches and exports end that have begun')
  return placeWith(rewritten === 0 ? 'nothing' : 'removed', `${rewritten} segments with deletions were rewritten`)
}

/** Moves every write from the translog into segments. Later searches read only the present segments. */
async function flush({ elasticsearch, index, signal }: Shard): Promise<void> {
  await refreshEveryCopy(elasticsearch, [index], { signal })
  const { _shards: shards } = await elasticsearch.indices.flush(
    { index, force: true, wait_if_ongoing: true },
    { signal },
  )
  if (shards?.failed !== 0) throw new Error(`${index} could not be flushed on every copy`)
}

/** Whether every copy has the tombstone, and no copy retains earlier history for the recovery of another one. */
async function isForgotten(shard: Shard): Promise<boolean> {
  return (await copiesOf(shard)).every(({ retention_leases: { leases = [] } = {}, seq_no: sequence }) => {
    const seqNos = [sequence?.global_checkpoint ?? -1, ...leases.map((lease) => lease.retaining_seq_no)]
    return seqNos.every((seqNo) => seqNo >= shard.seqNo)
  })
}

async function copiesOf({ elasticsearch, index, shard, signal }: Shard) {
  const query = { index, metric: 'search', level: 'shards' } as const
  const { indices, _shards } = await elasticsearch.indices.stats(query, { signal })
  expectEveryCopy(_shards, index)
  const copies = indices?.[index]?.shards?.[shard] ?? []
  if (copies.length === 0) throw new Error(`Elasticsearch reports no copy of shard ${shard} of ${index}`)
  return copies
}

/**
 * The nodes of the started copies of a shard, as one text. If the text changes, a copy was in recovery. Elasticsearch does not report the files of such a copy,
 * which may have the document.
 */
const nodesOf = async (shard: Shard): Promise<string> =>
  (await copiesOf(shard))
    .map(({ routing }) => routing?.node)
    .sort()
    .join()

/** Throws if a node did not answer: Elasticsearch then answers 200 without the node's copies. */
function expectEveryCopy({ failed }: estypes.ShardStatistics, index: PhysicalIndex): void {
  if (failed > 0) throw new Error(`Elasticsearch does not report ${failed} copies of ${index}: run again`)
}

/** `<node> <segment>` of every segment that has deleted documents, or that no search reads because all its documents are deleted. */
async function suspectsOf({ elasticsearch, index, shard, signal }: Shard): Promise<Set<string>> {
  const { indices, _shards } = await elasticsearch.indices.segments({ index }, { signal })
  expectEveryCopy(_shards, index)
  const copies = [indices[index]?.shards[shard] ?? []].flat()
  const suspects = copies.flatMap(({ routing, segments }) =>
    Object.entries(segments).flatMap(([name, { deleted_docs: deletedCount, search: isSearched }]) =>
      deletedCount > 0 || !isSearched ? `${routing.node} ${name}` : [],
    ),
  )
  return new Set(suspects)
}

/** Rewrites every segment with deleted documents. By default, Elasticsearch leaves out segments with less than 10 %: so the setting is 0 during the merge. */
async function merge({ elasticsearch, index, signal }: Shard, isGone: () => Promise<boolean>): Promise<void> {
  const settings = await elasticsearch.indices.getSettings(
    { index, name: percentageSetting, flat_settings: true },
    { signal },
  )
  const formerPercentage =
    (settings[index]?.settings as Record<string, string> | undefined)?.[percentageSetting] ?? null
  // If this process is killed, the setting stays at 0. It affects only merges with `only_expunge_deletes`.
  await elasticsearch.indices.putSettings({ index, settings: { [percentageSetting]: 0 } }, { signal })
  // `isGone` reports the progress.
  const watch = setInterval(() => void isGone().catch(() => undefined), watchMs)
  try {
    const request = { index, only_expunge_deletes: true }
    const { _shards: shards } = await elasticsearch.indices.forcemerge(request, {
      signal,
      requestTimeout: mergeDeadlineMs,
    })
    if (shards?.failed !== 0) throw new Error(`${index} could not be merged on every copy`)
  } finally {
    clearInterval(watch)
    // Without `signal`: the setting is also restored when the command is stopped.
    await elasticsearch.indices.putSettings({ index, settings: { [percentageSetting]: formerPercentage } })
  }
}
