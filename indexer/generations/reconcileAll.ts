import type { ForgottenEntities } from './forgotten.ts'
import type { Generation } from './generations.ts'
import type { RebuildOptions } from './rebuildOptions.ts'
import { Reconciliation } from './reconcile.ts'

/** A pass over so few documents is short enough to be repeated while the watermark is held. */
const smallPass = 5_000

/** Runs passes until one is short enough to be repeated while the watermark is held. The first one shows which entities are missing. */
export async function reconcileAll(
  options: RebuildOptions,
  from: Generation,
  to: Generation,
  forgotten: ForgottenEntities,
): Promise<Reconciliation> {
  const { elasticsearch, raw, report, signal } = options
  const { count: total } = await elasticsearch.count({ index: Object.values(from.indices) }, { signal })
  let [compared, isFirst] = [0, true]
  const onProgress = (documents: number): void => {
    compared += documents
    if (isFirst) report.progress('documents compared', Math.min(compared, total), total)
  }
  let waitingFor: string | null = null
  const onBlocked = (reason: string | null): void => {
    if (reason !== null && reason !== waitingFor) report.step(`waiting: ${reason}`)
    waitingFor = reason
  }
  const reconciliation = new Reconciliation({
    ...{ elasticsearch, raw, from, to, forgotten, signal, onProgress, onBlocked },
  })
  for (; ; isFirst = false) {
    const comparisons = await reconciliation.pass()
    if (isFirst) report.compared(comparisons)
    for (const [kind, { checksum }] of Object.entries(comparisons))
      if (checksum.old !== checksum.new) throw new Error(`${kind} differ after reconciliation`)
    if (isFirst) await forgotten.settle(options, reconciliation)
    const documents = Object.values(comparisons).reduce((sum, each) => sum + each.documents, 0)
    if (isFirst || documents > smallPass) continue
    return reconciliation
  }
}
