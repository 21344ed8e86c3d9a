import type { Client } from '@elastic/elasticsearch'
import { z } from 'zod'
import { startProgressBar } from '../../../src/core/process/progressBar.ts'
import type { DocumentWrite } from '../../../src/core/stores/documents.ts'
import { type Alias, aliasOf, type DocumentKind, documentKinds } from '../../../src/core/stores/indices.ts'
import type { Stage } from '../stage.ts'
import { storeWrites, type Write } from '../storeWrites.ts'
import { type World, writesOf } from './world.ts'

/** What an index of a world takes at rest. */
export type Weight = {
  readonly kind: DocumentKind
  readonly documents: number
  readonly bytes: number
  /** How much of it is stored documents; the rest is what searches read. */
  readonly storedBytes: number
}

const mergeDeadlineMs = 600_000
const parts = 6

/** A document on its way into the index that serves, as an indexer would store it. */
const writeTo = ({ name }: World, { kind, id, teamId, version, source }: DocumentWrite): Write => ({
  index: aliasOf(name, kind),
  id,
  teamId,
  version,
  source: source.toString(),
})

/** Fills a world's indices, and leaves them merged and searchable. */
export async function fillWorld(client: Client, world: World, stage: Stage): Promise<void> {
  const perSubmission = world.hasDetails ? 2 : 1
  const bar = startProgressBar(`Storing ${world.name}`, world.submissions, process.stdout)
  const writes = Iterator.from(writesOf(world)).map((write) => writeTo(world, write))
  const report = (stored: number): void => bar.reach(Math.floor(stored / perSubmission))
  await storeWrites(client, writes, report, stage.signal).finally(bar.end)
  await mergeWorld(client, world, stage)
}

/**
 * The same in parts, of documents that are made beforehand: it is Elasticsearch that is measured. Answers how many documents a second
 * each part took.
 */
export async function fillInParts(
  client: Client,
  world: World,
  documents: readonly DocumentWrite[],
  stage: Stage,
): Promise<number[]> {
  const size = Math.ceil(documents.length / parts)
  const rates: number[] = []
  for (let part = 0; part < parts; part++) {
    const writes = documents.slice(part * size, (part + 1) * size).map((write) => writeTo(world, write))
    const beganMs = performance.now()
    await storeWrites(client, writes, () => undefined, stage.signal)
    rates.push((1_000 * writes.length) / (performance.now() - beganMs))
  }
  await mergeWorld(client, world, stage)
  // The first one also warms up what it goes through.
  return rates.slice(1)
}

/** One segment a shard, searchable and on disk. */
async function mergeWorld(client: Client, world: World, { signal }: Stage): Promise<void> {
  const index = documentKinds.map((kind) => aliasOf(world.name, kind))
  await client.indices.forcemerge({ index, max_num_segments: 1 }, { signal, requestTimeout: mergeDeadlineMs })
  await client.indices.refresh({ index }, { signal })
  await client.indices.flush({ index }, { signal })
}

/** What the indices of a world take that hold anything. Rejects when the list does not hold every submission. */
export async function weigh(client: Client, world: World, { signal }: Stage): Promise<Weight[]> {
  const weights: Weight[] = []
  for (const kind of documentKinds) {
    const index = aliasOf(world.name, kind)
    const { count: documents } = await client.count({ index }, { signal })
    if (documents > 0) weights.push({ kind, documents, ...(await usageOf(client, index, signal)) })
  }
  const listed = weights.find(({ kind }) => kind === 'submissions')?.documents
  if (listed !== world.submissions) throw new Error(`${world.name} holds ${listed} submissions of ${world.submissions}`)
  return weights
}

const usageSchema = z.object({
  store_size_in_bytes: z.int(),
  all_fields: z.object({ stored_fields_in_bytes: z.int() }),
})

/** Elasticsearch reads the whole index for it; its plain figures of size are up to ten seconds old. */
async function usageOf(
  client: Client,
  index: Alias,
  signal: AbortSignal,
): Promise<Pick<Weight, 'bytes' | 'storedBytes'>> {
  const options = { signal, requestTimeout: mergeDeadlineMs }
  const { _shards, ...byIndex } = (await client.indices.diskUsage({ index, run_expensive_tasks: true }, options)) as {
    [index: string]: unknown
  }
  const [usage] = Object.values(byIndex).map((each) => usageSchema.parse(each))
  if (usage === undefined) throw new Error(`${index} has no size`)
  return { bytes: usage.store_size_in_bytes, storedBytes: usage.all_fields.stored_fields_in_bytes }
}
