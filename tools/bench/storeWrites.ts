import { z } from 'zod'
import { startProgressBar } from '../../src/core/process/progressBar.ts'
import type { Stage } from './stage.ts'

/** A document on its way into an index; without a version, Elasticsearch counts itself. */
export type Write = {
  readonly index: string
  readonly id: string
  readonly teamId: string
  readonly source: string
  readonly version?: number
}

const maxBulkBytes = 5 * 1024 * 1024
const bulksAtOnce = 2
const bulkDeadlineMs = 60_000
const mergeDeadlineMs = 600_000

const usageSchema = z.object({
  store_size_in_bytes: z.int(),
  all_fields: z.object({ stored_fields_in_bytes: z.int() }),
})

/**
 * Stores about `total` documents by bulk, and leaves the indices searchable, each with one segment a shard. Rejects when Elasticsearch
 * refuses one.
 */
export async function storeWrites(
  { client, signal }: Stage,
  writes: Iterable<Write>,
  { label, total, indices }: { readonly label: string; readonly total: number; readonly indices: readonly string[] },
): Promise<void> {
  const refused: unknown[] = []
  const bar = startProgressBar(label, total, process.stdout)
  const options = {
    datasource: asAsync(writes),
    flushBytes: maxBulkBytes,
    concurrency: bulksAtOnce,
    onDocument: ({ index, id, teamId, source, version }: Write): [{ index: object }, unknown] => [
      {
        index: {
          _index: index,
          _id: id,
          routing: teamId,
          ...(version !== undefined && { version, version_type: 'external' }),
        },
      },
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

/** What an index takes on disk, and how much of that is stored documents; the rest is what searches read. */
export async function weigh(
  { client, signal }: Stage,
  index: string,
): Promise<{ readonly documents: number; readonly bytes: number; readonly storedBytes: number }> {
  const { count: documents } = await client.count({ index }, { signal })
  // Elasticsearch reads the whole index for it; its plain figures of size are up to ten seconds old.
  const usage = await client.indices.diskUsage(
    { index, run_expensive_tasks: true },
    { signal, requestTimeout: mergeDeadlineMs },
  )
  const { _shards, ...byIndex } = usage as { [index: string]: unknown }
  const { store_size_in_bytes: bytes, all_fields: fields } = usageSchema.parse(Object.values(byIndex)[0])
  return { documents, bytes, storedBytes: fields.stored_fields_in_bytes }
}

async function* asAsync<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items
}
