import type { estypes } from '@elastic/elasticsearch'
import type { PhysicalIndex } from '../../src/core/elasticsearch/indices.ts'
import { type DocumentId, teamIdOf } from '../../src/core/model/ids.ts'
import type { Instant } from '../../src/core/model/instant.ts'
import { until } from '../backoff.ts'
import type { CommandTools } from '../engineCommand.ts'
import { refreshEveryCopy } from '../refreshEveryCopy.ts'

/** Where data of a deleted submission was looked for, and what is left of it. */
export type Place = {
  readonly engine: 'elasticsearch' | 'kafka' | 'redis' | 'api'
  readonly name: string
  /**
   * `removed`: by this run. `key`: the key alone stays, by which the deletion is known. `memory`: in the memory of processes alone, where
   * nobody is served it. `left`: it is there, or nobody can tell.
   */
  readonly state: 'nothing' | 'removed' | 'key' | 'memory' | 'left'
  /** Until when something is left at the latest; null where nothing is, and where nobody can tell. */
  readonly until: Instant | null
  readonly detail: string
}

type Tools = Pick<CommandTools, 'elasticsearch' | 'report' | 'signal'>
/** The shard of a deleted document; `seqNo` is the sequence number of the tombstone that replaced it. */
type Shard = Tools & { readonly index: PhysicalIndex; readonly shard: string; readonly seqNo: number }

const watchMs = 2_000
/** Copies agree every 30 s on what none of them needs any more; merges and searches that are under way take a while. */
const waitMs = 120_000
/** A merge copies the live documents of every segment with deletions. */
const mergeDeadlineMs = 4 * 3_600_000
const share = 'index.merge.policy.expunge_deletes_allowed'

/**
 * Makes every copy of a shard drop what a tombstone has replaced. Elasticsearch keeps it in the translog until a flush; in its segment until a
 * merge, as long as a copy may ask for it; in the segment's file until the last search of it ends.
 */
export async function expunge(tools: Tools, index: PhysicalIndex, id: DocumentId, seqNo: number): Promise<Place> {
  const { elasticsearch, report, signal } = tools
  const { shards } = await elasticsearch.searchShards({ index, routing: teamIdOf(id) }, { signal })
  const shard = { ...tools, index, seqNo, shard: String(shards[0]?.[0]?.shard) }
  const place = { engine: 'elasticsearch', name: index, until: null } as const
  const told = (state: Place['state'], detail: string): Place => ({ ...place, state, detail })

  await flush(shard)
  report.step(`${index}: waits until no copy needs the history before the deletion, about 30 s`)
  if (!(await until(() => isForgotten(shard), waitMs, signal))) return told('left', 'a copy that is away may need it')
  const nodes = await nodesOf(shard)
  let rewritten = 0
  // A merge that was under way may have carried it along: its segments stay until it ends, and what it makes is found the second time.
  for (const _ of ['first', 'second']) {
    await flush(shard)
    const suspects = await suspectsOf(shard)
    if (suspects.size === 0) break
    const isGone = async (): Promise<boolean> => {
      const now = await suspectsOf(shard)
      const gone = [...suspects].filter((each) => !now.has(each)).length
      report.progress(`${index}: segments with deletions rewritten`, gone, suspects.size)
      return gone === suspects.size
    }
    await merge(shard, isGone)
    const isFlushed = async (): Promise<boolean> => {
      await flush(shard)
      return await isGone()
    }
    if (!(await until(isFlushed, waitMs, signal))) return told('left', 'segments with deletions remain: run again')
    rewritten += suspects.size
  }
  const { status, relocating_shards: moving } = await elasticsearch.cluster.health({ index, timeout: '1s' }, { signal })
  if (status !== 'green' || moving > 0) return told('left', 'a copy is away, or moves: run again when all are there')
  if ((await nodesOf(shard)) !== nodes) return told('left', 'a copy has moved: run again')
  report.step(`${index}: waits until no search reads an earlier file`)
  const isUnread = async (): Promise<boolean> =>
    (await copiesOf(shard)).every(({ search }) => (search?.open_contexts ?? 0) === 0)
  if (!(await until(isUnread, waitMs, signal))) return told('left', 'until searches and exports end that have begun')
  return told(rewritten === 0 ? 'nothing' : 'removed', `${rewritten} segments with deletions were rewritten`)
}

/** Everything that was written is in segments, and no other ones are searched. */
async function flush({ elasticsearch, index, signal }: Shard): Promise<void> {
  await refreshEveryCopy(elasticsearch, [index], { signal })
  const asked = { index, force: true, wait_if_ongoing: true }
  const { _shards: shards } = await elasticsearch.indices.flush(asked, { signal })
  if (shards?.failed !== 0) throw new Error(`${index} could not be flushed on every copy`)
}

/** Whether every copy has the tombstone, and none of them holds history from before it for another one. */
async function isForgotten(shard: Shard): Promise<boolean> {
  return (await copiesOf(shard)).every(({ retention_leases: { leases = [] } = {}, seq_no: reached }) => {
    const needed = [reached?.global_checkpoint ?? -1, ...leases.map((each) => each.retaining_seq_no)]
    return needed.every((each) => each >= shard.seqNo)
  })
}

async function copiesOf({ elasticsearch, index, shard, signal }: Shard) {
  const asked = { index, metric: 'search', level: 'shards' } as const
  const { indices, _shards } = await elasticsearch.indices.stats(asked, { signal })
  expectEveryCopy(_shards, index)
  const copies = indices?.[index]?.shards?.[shard] ?? []
  if (copies.length === 0) throw new Error(`Elasticsearch tells nothing of shard ${shard} of ${index}`)
  return copies
}

/** The nodes of a shard's copies that have started, as one text. One that is being recovered has files that nobody tells of. */
const nodesOf = async (shard: Shard): Promise<string> =>
  (await copiesOf(shard))
    .map(({ routing }) => routing?.node)
    .sort()
    .join()

/** Elasticsearch leaves out, with status 200, what a node could not tell. */
function expectEveryCopy({ failed }: estypes.ShardStatistics, index: PhysicalIndex): void {
  if (failed > 0) throw new Error(`Elasticsearch tells nothing of ${failed} copies of ${index}: run again`)
}

/** Segments that may hold deleted documents, by copy and name. One without live documents is not searched. */
async function suspectsOf({ elasticsearch, index, shard, signal }: Shard): Promise<Set<string>> {
  const { indices, _shards } = await elasticsearch.indices.segments({ index }, { signal })
  expectEveryCopy(_shards, index)
  const copies = [indices[index]?.shards[shard] ?? []].flat()
  const suspects = copies.flatMap(({ routing, segments }) =>
    Object.entries(segments).flatMap(([name, { deleted_docs: deleted, search: isSearched }]) =>
      deleted > 0 || !isSearched ? `${routing.node} ${name}` : [],
    ),
  )
  return new Set(suspects)
}

/** Rewrites every segment with deletions, also those with less than the usual share (10 %), which is restored. */
async function merge({ elasticsearch, index, signal }: Shard, isGone: () => Promise<boolean>): Promise<void> {
  const settings = await elasticsearch.indices.getSettings({ index, name: share, flat_settings: true }, { signal })
  const before = (settings[index]?.settings as Record<string, string> | undefined)?.[share] ?? null
  // Where a killed run leaves it, it matters only to who asks for such a merge.
  await elasticsearch.indices.putSettings({ index, settings: { [share]: 0 } }, { signal })
  // For its progress, which may fail.
  const watch = setInterval(() => void isGone().catch(() => undefined), watchMs)
  try {
    const all = { index, only_expunge_deletes: true }
    const { _shards: shards } = await elasticsearch.indices.forcemerge(all, { signal, requestTimeout: mergeDeadlineMs })
    if (shards?.failed !== 0) throw new Error(`${index} could not be merged on every copy`)
  } finally {
    clearInterval(watch)
    // Also when the command was asked to stop.
    await elasticsearch.indices.putSettings({ index, settings: { [share]: before } })
  }
}
