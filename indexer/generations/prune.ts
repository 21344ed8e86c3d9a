import { setTimeout as sleep } from 'node:timers/promises'
import { ForgottenEntities } from './forgotten.ts'
import { rebuildSteps } from './foundState.ts'
import { countReaders, deleteGeneration, findGenerations, type Generation } from './generations.ts'
import type { RebuildOptions } from './rebuildOptions.ts'
import { reconcileAll } from './reconcileAll.ts'

const requestTimeoutMs = 30_000
/** Longer than any API request that began on the old indices. */
const graceMs = 10_000
const readersDeadlineMs = 600_000
const pollMs = 1_000

/**
 * Removes what interrupted rebuilds have left beside the generation in service, and unfinished indices of other releases. An
 * older generation that once served is reconciled first.
 */
export async function pruneUnfinished(options: RebuildOptions, serving: Generation): Promise<void> {
  const { config, elasticsearch, signal, report } = options
  const request = { signal, requestTimeout: requestTimeoutMs }
  for (const each of await findGenerations(elasticsearch, config.INDEX_PREFIX, request)) {
    const steps = rebuildSteps(each, serving)
    if (!steps.includes('remove')) continue
    report.step(`generation ${each.number} is left over and is removed`)
    if (steps.includes('reconcile') && each.complete !== undefined)
      await reconcileAll(options, each.complete, serving, new ForgottenEntities(new Map()))
    await deleteGeneration(elasticsearch, each, request)
  }
}

/** Removes a generation once nobody reads it. When that takes too long, it is left to the next rebuild. */
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
