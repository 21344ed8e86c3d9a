import type { Index } from './catalog.ts'
import { isReachable, type Shard } from './shard.ts'

/** The statistics of indices: documents and bytes that are searchable, open searches, and the sequence numbers of shards. */
export function indexStats(indices: readonly Index[], openSearches: (index: Index) => number): object {
  const stats = indices.map((index) => [index.name, statsOf(index, openSearches(index))] as const)
  const open = indices.reduce((sum, index) => sum + openSearches(index), 0)
  return { _all: { total: { search: { open_contexts: open } } }, indices: Object.fromEntries(stats) }
}

function statsOf({ uuid, shards }: Index, open: number): object {
  const views = shards.map(({ primary }) => primary.view)
  const sum = (sizes: readonly number[]): number => sizes.reduce((all, each) => all + each, 0)
  const bytes = views.map(({ byId }) => sum([...byId.values()].map(({ source }) => source.length)))
  return {
    uuid,
    primaries: { docs: { count: sum(views.map(({ byId }) => byId.size)) }, store: { size_in_bytes: sum(bytes) } },
    total: { store: { size_in_bytes: sum(bytes) }, search: { open_contexts: open } },
    shards: Object.fromEntries(shards.map((shard) => [shard.number, copiesOf(shard)])),
  }
}

/** Copies that do not answer are left out. */
const copiesOf = ({ copies, primary, lastSeqNo }: Shard): readonly object[] =>
  copies.filter(isReachable).map((copy) => ({
    routing: { state: 'STARTED', primary: copy === primary },
    seq_no: { max_seq_no: lastSeqNo, local_checkpoint: lastSeqNo, global_checkpoint: lastSeqNo },
  }))
