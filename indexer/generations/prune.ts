import { setTimeout as sleep } from 'node:timers/promises'
import { countReaders, deleteGeneration, findGenerations, type Generation } from './generations.ts'
import type { RebuildOptions } from './rebuildOptions.ts'
import { reconcileAll } from './reconcile.ts'

const requestTimeoutMs = 30_000
/** Longer than any request of the API that began with the old indices. */
const graceMs = 10_000
const readersDeadlineMs = 600_000
const pollMs = 1_000

/**
 * Removes what rebuilds that were cut short have left beside the serving generation, and half made indices of other releases.
 * What a generation that once served knows better is carried over first.
 */
export async function pruneUnfinished(options: RebuildOptions, serving: Generation): Promise<void> {
  const { config, elasticsearch, signal, report } = options
  const request = { signal, requestTimeout: requestTimeoutMs }
  for (const each of await findGenerations(elasticsearch, config.INDEX_PREFIX, request)) {
    const isOld = each.number < serving.number
    if (!isOld && (each.number === serving.number || each.isOurs)) continue
    report.step(`generation ${each.number} is left over and is removed`)
    if (isOld && each.complete?.isWhole === true) await reconcileAll(options, each.complete, serving)
    await deleteGeneration(elasticsearch, each, request)
  }
}

/** Removes a generation once nobody reads it any more; the next rebuild does when that takes too long. */
export async function pruneRetired(options: RebuildOptions, retired: Generation): Promise<void> {
  const { config, elasticsearch, signal, report } = options
  const request = { signal, requestTimeout: requestTimeoutMs }
  report.step(`generation ${retired.number} is kept until its readers are done`)
  await sleep(graceMs, undefined, { signal })
  const givesUpAtMs = Date.now() + readersDeadlineMs
  while ((await countReaders(elasticsearch, retired, request)) > 0) {
    if (Date.now() > givesUpAtMs) {
      report.step(`generation ${retired.number} is still read; the next rebuild removes it`)
      return
    }
    await sleep(pollMs, undefined, { signal })
  }
  const found = await findGenerations(elasticsearch, config.INDEX_PREFIX, request)
  const left = found.find(({ complete }) => complete?.tag === retired.tag && !complete.isServing)
  if (left !== undefined) await deleteGeneration(elasticsearch, left, request)
  report.step(`generation ${retired.number} is removed`)
}
