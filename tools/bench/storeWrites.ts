import type { Client } from '@elastic/elasticsearch'

/** A document on its way into an index. */
export type Write = {
  readonly index: string
  readonly id: string
  readonly teamId: string
  readonly source: string
  /** An external one; Elasticsearch counts itself when it is left out. */
  readonly version?: number
}

const maxBulkBytes = 5 * 1024 * 1024
const bulksAtOnce = 2
const bulkDeadlineMs = 60_000

/** Stores all of them by bulk requests; `report` hears how many are. Rejects when Elasticsearch refuses one. */
export async function storeWrites(
  client: Client,
  writes: Iterable<Write>,
  report: (stored: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const refused: unknown[] = []
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
    onFlush: ({ successful }: { successful: number }) => report(successful),
  }
  await client.helpers.bulk<Write>(options, { signal, requestTimeout: bulkDeadlineMs })
  if (refused.length > 0)
    throw new Error(`Elasticsearch refuses ${refused.length} documents: ${JSON.stringify(refused[0])}`)
}

async function* asAsync<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items
}
