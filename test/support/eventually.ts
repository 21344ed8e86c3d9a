import { setTimeout as sleep } from 'node:timers/promises'

/** A wait that comes true ends at once: this bounds only failures, and what takes seconds takes a minute on a busy machine. */
export const patienceMs = 90_000
const restMs = 50
/** Each question costs whoever is asked, too: one that is not answered within a second is asked less often. */
const patientAfterMs = 1_000
const patientRestMs = 150

/** Waits until `condition` holds; rejects when it does not in a minute and a half. */
export async function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
  const startedAtMs = Date.now()
  for (;;) {
    const found = condition()
    if (await found) return
    const waitedMs = Date.now() - startedAtMs
    if (waitedMs > patienceMs) throw new Error(`does not come true: ${condition}`)
    const asksNobody = typeof found === 'boolean'
    await sleep(asksNobody || waitedMs < patientAfterMs ? restMs : patientRestMs)
  }
}

/** Whether what was begun ends without an error. */
export const succeeds = (begun: Promise<unknown>): Promise<boolean> =>
  begun.then(
    () => true,
    () => false,
  )
