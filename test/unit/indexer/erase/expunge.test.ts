import { expunge } from '../../../../indexer/erase/expunge.ts'
import type { PhysicalIndex } from '../../../../src/core/elasticsearch/indices.ts'
import type { DocumentId } from '../../../../src/core/model/ids.ts'

const share = 'index.merge.policy.expunge_deletes_allowed'
const [index, id, seqNo] = ['tidemark-submissions-v4-1' as PhysicalIndex, 'acme/s-1' as DocumentId, 7]
type Segment = { readonly deleted_docs: number; readonly search: boolean }

/** An index of one shard on two nodes, whose merges begin with `onMerge`; a node may not answer a question. */
function shardWith(
  first: Record<string, Segment>,
  onMerge: (merge: number) => Promise<Record<string, Segment>>,
  silent?: 'stats' | 'segments',
) {
  let [segments, merges, asked] = [first, 0, 0]
  const nodes = ['a', 'b']
  const calls: string[] = []
  const shards = { total: 2, successful: 2, failed: 0 }
  const shardsOf = (question: 'stats' | 'segments') => ({ ...shards, failed: Number(question === silent) })
  const lease = (retaining: number) => ({ leases: [{ retaining_seq_no: retaining }] })
  const copy = (retaining: number, node = '') => ({
    routing: { node },
    ...{ seq_no: { global_checkpoint: seqNo }, retention_leases: lease(retaining), search: { open_contexts: 0 } },
  })
  const indices = {
    refresh: async () => ({ _shards: shards }),
    flush: async () => ({ _shards: shards }),
    // At first, one copy keeps the history for the other.
    stats: async () => {
      const copies = [copy(8, nodes[0]), copy(asked++ === 0 ? 7 - 1 : 8, nodes[1])]
      return { _shards: shardsOf('stats'), indices: { [index]: { shards: { 0: copies } } } }
    },
    segments: async () => {
      const copies = nodes.map((node) => ({ routing: { node }, segments }))
      return {
        _shards: shardsOf('segments'),
        indices: silent === 'segments' ? {} : { [index]: { shards: { 0: copies } } },
      }
    },
    getSettings: async () => ({ [index]: { settings: { [share]: '25' } } }),
    putSettings: async ({ settings }: { settings: Record<string, unknown> }, options?: { signal: AbortSignal }) => {
      options?.signal.throwIfAborted()
      calls.push(String(settings[share]))
    },
    forcemerge: async () => {
      calls.push('merge')
      segments = await onMerge(++merges)
      return { _shards: shards }
    },
  }
  const cluster = { health: async () => ({ status: 'green', relocating_shards: 0 }) }
  const searchShards = async () => ({ shards: [[{ shard: 0 }]] })
  return { calls, nodes, elasticsearch: { indices, cluster, searchShards }, asked: () => asked }
}

const expungeWith = ({ elasticsearch }: ReturnType<typeof shardWith>, signal = new AbortController().signal) => {
  const report = { step: () => undefined, progress: () => undefined, end: () => undefined }
  const tools = { elasticsearch, report, signal } as unknown as Parameters<typeof expunge>[0]
  return expunge(tools, index, id, seqNo)
}

const dirty = { deleted_docs: 1, search: true }
const clean = { deleted_docs: 0, search: true }
/** Without a live document. */
const unsearched = { deleted_docs: 0, search: false }

test('segments with deletions, and those without live documents, are rewritten; the share of deletions is restored', async () => {
  const shard = shardWith({ _0: dirty, _1: clean, _2: unsearched }, async () => ({ _1: clean, _3: clean }))
  expect(await expungeWith(shard)).toMatchObject({ state: 'removed', name: index, until: null })
  expect(shard.calls).toEqual(['0', 'merge', '25'])
  expect(shard.asked()).toBeGreaterThan(2)
})

test('deletions that a concurrent merge has carried along are found in its segment, and removed', async () => {
  const shard = shardWith({ _0: dirty }, async (merge) => (merge === 1 ? { _1: dirty } : { _2: clean }))
  expect(await expungeWith(shard)).toMatchObject({ state: 'removed', detail: expect.stringMatching('^4 segments') })
  expect(shard.calls).toEqual(['0', 'merge', '25', '0', 'merge', '25'])
})

test('without deletions nothing is merged', async () => {
  const shard = shardWith({ _0: clean }, async () => ({}))
  expect(await expungeWith(shard)).toMatchObject({ state: 'nothing' })
  expect(shard.calls).toEqual([])
})

test.each(['stats', 'segments'] as const)(
  'a node that does not report its copies (%s) is an error, not a sign that nothing is left',
  async (silent) => {
    await expect(expungeWith(shardWith({ _0: clean }, async () => ({}), silent))).rejects.toThrow(
      'does not report 1 copies',
    )
  },
)

test('a copy that has moved to another node meanwhile leaves the result undecided', async () => {
  const shard = shardWith({ _0: dirty }, async () => {
    shard.nodes[1] = 'c'
    return { _1: clean }
  })
  expect(await expungeWith(shard)).toMatchObject({ state: 'left', detail: 'a copy has moved: run again' })
})

test('the share of deletions is restored when the command is asked to stop while it merges', async () => {
  const stop = new AbortController()
  const shard = shardWith({ _0: dirty }, async () => {
    stop.abort(new Error('stopped'))
    throw new Error('aborted')
  })
  await expect(expungeWith(shard, stop.signal)).rejects.toThrow('aborted')
  expect(shard.calls).toEqual(['0', 'merge', '25'])
})
