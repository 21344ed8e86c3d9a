import type { estypes } from '@elastic/elasticsearch'
import type { PhysicalIndex } from '../../src/core/elasticsearch/indices.ts'
import { type DocumentId, teamIdOf } from '../../src/core/model/ids.ts'
import type { Instant } from '../../src/core/model/instant.ts'
import { until } from '../backoff.ts'
import type { CommandTools } from '../engineCommand.ts'
import { refreshEveryCopy } from '../refreshEveryCopy.ts'

export type Place = {
  readonly engine: 'elasticsearch' | 'kafka' | 'redis' | 'api'
  readonly name: string
  /**
   * - `key`: only the key of the submission is left, in the record of its deletion.
   * - `memory`: processes may have data in memory, but do not serve them.
   * - `left`: it has data, or may have them.
   */
  readonly state: 'nothing' | 'removed' | 'key' | 'memory' | 'left'
  /** When the last data will be gone at the latest; null if there are none, or the time is unknown. */
  readonly until: Instant | null
  readonly detail: string
}

type Tools = Pick<CommandTools, 'elasticsearch' | 'report' | 'signal'>
/** `seqNo`: the sequence number of the tombstone. */
type Shard = Tools & { readonly index: PhysicalIndex; readonly shard: string; readonly seqNo: number }

const progressIntervalMs = 2_000
/** The longest wait (ms) for each condition. Copies drop unneeded history after 30 s; merges and searches in flight take less than two minutes. */
const waitMs = 120_000
/** Long, since a merge copies the live documents of every segment with deleted documents. */
const mergeDeadlineMs = 4 * 3_600_000
/** The percentage of deleted documents above which a merge with `only_expunge_deletes` rewrites a segment. */
const percentageSetting = 'index.merge.policy.expunge_deletes_allowed'

/**
 * Removes, from every copy of its shard, a document that a tombstone (`seqNo`) has replaced. Elasticsearch still has it
 * - in the translog, until a flush;
 * - in a segment, until a merge rewrites it. The merge copies the document as long as a copy of the shard may need its history for a recovery;
 * - in the former segment's file, until the last search that reads it ends.
 */
export async function expunge(tools: Tools, index: PhysicalIndex, id: DocumentId, seqNo: number): Promise<Place> {
  const { elasticsearch, report, signal } = tools
  const { shards } = await elasticsearch.searchShards({ index, routing: teamIdOf(id) }, { signal })
  const shard = { ...tools, index, seqNo, shard: String(shards[0]?.[0]?.shard) }
  const place = { engine: 'elasticsearch', name: index, until: null } as const
  const placeWith = (state: Place['state'], detail: string): Place => ({ ...place, state, detail })

  await flush(shard)
  report.step(`${index}: waits until no copy needs the history before the deletion, about 30 s`)
  if (!(await until(() => isHistoryUnneeded(shard), waitMs, signal)))
    return placeWith('left', 'a copy that is away may need the history')
  const nodesBefore = await nodesOf(shard)
  let rewrittenCount = 0
  // Twice: a merge that was in flight may have copied the document into a new segment.
  for (const _ of ['first', 'second']) {
    await flush(shard)
    const suspects = await suspectsOf(shard)
    if (suspects.size === 0) break
    const areRewritten = async (): Promise<boolean> => {
      const presentSuspects = await suspectsOf(shard)
      const goneCount = [...suspects].filter((segment) => !presentSuspects.has(segment)).length
      report.progress(`${index}: segments with deletions rewritten`, goneCount, suspects.size)
      return goneCount === suspects.size
    }
    await merge(shard, areRewritten)
    // Until a flush, the last commit of a copy still names the former segments.
    const areRewrittenAndFlushed = async (): Promise<boolean> => {
      await flush(shard)
      return await areRewritten()
    }
    if (!(await until(areRewrittenAndFlushed, waitMs, signal)))
      return placeWith('left', 'segments with deletions remain: run again')
    rewrittenCount += suspects.size
  }
  const { status, relocating_shards: moving } = await elasticsearch.cluster.health({ index, timeout: '1s' }, { signal })
  if (status !== 'green' || moving > 0)
    return placeWith('left', 'a copy is away, or moves: run again when all are there')
  if ((await nodesOf(shard)) !== nodesBefore) return placeWith('left', 'a copy has moved: run again')
  report.step(`${index}: waits until no search reads an earlier file`)
  const isUnread = async (): Promise<boolean> =>
    (await copiesOf(shard)).every(({ search }) => (search?.open_contexts ?? 0) === 0)
  if (!(await until(isUnread, waitMs, signal)))
    return placeWith('left', 'until searches and exports end that have begun')
  return placeWith(
    rewrittenCount === 0 ? 'nothing' : 'removed',
    `${rewrittenCount} segments with deletions were rewritten`,
  )
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

/** Whether every copy has the tombstone (global checkpoint), and none retains earlier history for a recovery (retention leases). */
async function isHistoryUnneeded(shard: Shard): Promise<boolean> {
  const copies = await copiesOf(shard)
  return copies.every(({ retention_leases: retention, seq_no: sequence }) => {
    // -1: this copy has not reported a checkpoint yet.
    const globalCheckpoint = sequence?.global_checkpoint ?? -1
    const leases = retention?.leases ?? []
    return globalCheckpoint >= shard.seqNo && leases.every((lease) => lease.retaining_seq_no >= shard.seqNo)
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

/** If the nodes change during `expunge`, a copy has moved. While it was in recovery, Elasticsearch did not report its files, which may have the document. */
const nodesOf = async (shard: Shard): Promise<string> =>
  (await copiesOf(shard))
    .map(({ routing }) => routing?.node)
    .sort()
    .join()

/** If a node does not answer, Elasticsearch answers with status 200, but without the copies of that node. */
function expectEveryCopy({ failed }: estypes.ShardStatistics, index: PhysicalIndex): void {
  if (failed > 0) throw new Error(`Elasticsearch does not report ${failed} copies of ${index}: run again`)
}

/** `<node> <segment>` of every segment that may have the document: it has deleted documents, or no search reads it, because all its documents are deleted. */
async function suspectsOf({ elasticsearch, index, shard, signal }: Shard): Promise<Set<string>> {
  const { indices, _shards } = await elasticsearch.indices.segments({ index }, { signal })
  expectEveryCopy(_shards, index)
  const copies = [indices[index]?.shards[shard] ?? []].flat()
  const suspects = new Set<string>()
  for (const { routing, segments } of copies)
    for (const [name, { deleted_docs: deletedCount, search: isSearched }] of Object.entries(segments))
      if (deletedCount > 0 || !isSearched) suspects.add(`${routing.node} ${name}`)
  return suspects
}

/** By default, Elasticsearch leaves out segments with less than 10 % of deleted documents; so the setting is 0 % during the merge. */
async function merge({ elasticsearch, index, signal }: Shard, reportProgress: () => Promise<unknown>): Promise<void> {
  const settings = await elasticsearch.indices.getSettings(
    { index, name: percentageSetting, flat_settings: true },
    { signal },
  )
  const formerPercentage =
    (settings[index]?.settings as Record<string, string> | undefined)?.[percentageSetting] ?? null
  // If this process is killed, the setting stays at 0. It affects only merges with `only_expunge_deletes`.
  await elasticsearch.indices.putSettings({ index, settings: { [percentageSetting]: 0 } }, { signal })
  const progressTimer = setInterval(() => void reportProgress().catch(() => undefined), progressIntervalMs)
  try {
    const request = { index, only_expunge_deletes: true }
    const { _shards: shards } = await elasticsearch.indices.forcemerge(request, {
      signal,
      requestTimeout: mergeDeadlineMs,
    })
    if (shards?.failed !== 0) throw new Error(`${index} could not be merged on every copy`)
  } finally {
    clearInterval(progressTimer)
    // Without `signal`: the setting is restored even if the command is stopped. Null restores the default.
    await elasticsearch.indices.putSettings({ index, settings: { [percentageSetting]: formerPercentage } })
  }
}
