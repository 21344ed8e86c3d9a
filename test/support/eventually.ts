import { setTimeout as sleep } from 'node:timers/promises'

/** Only failing tests wait this long. A busy machine takes a minute for steps of a few seconds. */
export const patienceMs = 90_000
const restMs = 50
/** After this time, the condition is checked less often, because checks load the engines. */
const patientAfterMs = 1_000
const patientRestMs = 150

/** Waits until `condition` holds; rejects after 90 seconds. */
export async function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
  const startedAtMs = Date.now()
  for (;;) {
    const result = condition()
    if (await result) return
    const waitedMs = Date.now() - startedAtMs
    if (waitedMs > patienceMs) throw new Error(`does not come true: ${condition}`)
    const asksNobody = typeof result === 'boolean'
    await sleep(asksNobody || waitedMs < patientAfterMs ? restMs : patientRestMs)
  }
}

/** Whether a promise is fulfilled. */
export const succeeds = (begun: Promise<unknown>): Promise<boolean> =>
  begun.then(
    () => true,
    () => false,
  )
