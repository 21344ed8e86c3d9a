import { names, type Running, runIndexer } from './contenders.ts'
import type { Load } from './load.ts'

/** What an indexer brought with so much under way at most. */
export type MemoryRun = { readonly maxInFlightMiB: number; readonly load: Load }

const mebibyte = 1_024 ** 2
const defaultMiB = 64
const fewerMiB = 16

/**
 * Runs the indexer once with less under way and once over fewer records, beside the rounds it was measured in: its memory is to
 * follow from neither.
 */
export async function measureMemory(
  running: Running,
  loads: ReadonlyMap<string, readonly Load[]>,
): Promise<MemoryRun[]> {
  const { records, fewerRecords } = running.size
  const within = (maxInFlightMiB: number) => ({ MAX_IN_FLIGHT_BYTES: String(maxInFlightMiB * mebibyte) })
  return [
    ...(loads.get(names.indexer) ?? []).map((load) => ({ maxInFlightMiB: defaultMiB, load })),
    { maxInFlightMiB: fewerMiB, load: await runIndexer(running, 'memory-less', records, within(fewerMiB)) },
    { maxInFlightMiB: defaultMiB, load: await runIndexer(running, 'memory-fewer', fewerRecords, within(defaultMiB)) },
  ]
}
