import { setTimeout as sleep } from 'node:timers/promises'

const patienceMs = 30_000
/** Each look costs whoever is asked, too. */
const restMs = 50

/** Waits until `condition` holds; rejects when it does not in half a minute. */
export async function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
  const givesUpAtMs = Date.now() + patienceMs
  while (!(await condition())) {
    if (Date.now() > givesUpAtMs) throw new Error(`does not come true: ${condition}`)
    await sleep(restMs)
  }
}
