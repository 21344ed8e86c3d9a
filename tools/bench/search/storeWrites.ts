import { Readable } from 'node:stream'
import { z } from 'zod'
import { startProgressBar } from '../../../src/core/process/progressBar.ts'
import type { Stage } from '../stage.ts'

export type Write = { readonly index: string; readonly id: string; readonly teamId: string; readonly source: string }

const maxBulkBytes = 5 * 1024 * 1024
const bulksAtOnce = 2
const bulkDeadlineMs = 60_000
const mergeDeadlineMs = 600_000

const usageSchema = z.object({ store_size_in_bytes: z.int() })

/** Stores about `total` documents, refreshes the indices, and merges each shard into one segment. Rejects if Elasticsearch rejects a document. */
export async function storeWrites(
  { client, signal }: Stage,
  writes: Iterable<Write>,
  { label, total, indices }: { readonly label: string; readonly total: number; readonly indices: readonly string[] },
): Promise<void> {
  const refused: unknown[] = []
  const bar = startProgressBar(label, total, process.stdout)
  const options = {
    datasource: Readable.from(writes),
    flushBytes: maxBulkBytes,
    concurrency: bulksAtOnce,
    onDocument: ({ index, id, teamId, source }: Write): [{ index: object }, unknown] => [
      { index: { _index: index, _id: id, routing: teamId } },
      source,
    ],
    onDrop: ({ error }: { error: unknown }) => refused.push(error),
    onFlush: ({ successful }: { successful: number }) => bar.reach(successful),
  }
  await client.helpers.bulk<Write>(options, { signal, requestTimeout: bulkDeadlineMs }).finally(() => bar.end())
  if (refused.length > 0)
    throw new Error(`Elasticsearch refuses ${refused.length} documents: ${JSON.stringify(refused[0])}`)
  process.stdout.write(`Merging ${indices.join(', ')}\n`)
  const index = [...indices]
  await client.indices.forcemerge({ index, max_num_segments: 1 }, { signal, requestTimeout: mergeDeadlineMs })
  await client.indices.refresh({ index }, { signal })
  await client.indices.flush({ index }, { signal })
}

/** Mean size on disk. */
export async function bytesOfDocument({ client, signal }: Stage, index: string): Promise<number> {
  const { count: documents } = await client.count({ index }, { signal })
  // This request reads the whole index. Sizes in index statistics are up to ten seconds old.
  const usage = await client.indices.diskUsage(
    { index, run_expensive_tasks: true },
    { signal, requestTimeout: mergeDeadlineMs },
  )
  const { _shards, ...byIndex } = usage as { [index: string]: unknown }
  return usageSchema.parse(Object.values(byIndex)[0]).store_size_in_bytes / documents
}
