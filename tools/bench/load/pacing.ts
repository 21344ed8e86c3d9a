import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../demo/random.ts'

/**
 * The moments at which somebody asks who asks every `everyMs`, in ms from the beginning: each a little before or after its turn,
 * by `jitter` of the time between two at most. What is late does not put off what follows.
 */
export function* dueTimes(everyMs: number, jitter: number, random: Pick<Random, 'float'>): Generator<number> {
  const firstMs = random.float() * everyMs
  for (let turn = 0; ; turn++) yield Math.max(firstMs + (turn + (random.float() - 0.5) * jitter) * everyMs, 0)
}

/** How an open loop went. */
export type Pacing = {
  /** By how much each beginning was later than it was due. */
  readonly latenessMs: readonly number[]
  /** What could not begin because too much was under way. */
  readonly leftOut: number
}

/**
 * Begins at each moment that is due before `untilMs`, whatever is still under way, up to `maxUnderWay`; `begin` is told what the
 * moment was, and must not reject. Settles when all that began is over. Moments are in ms after `beganMs` of `performance.now()`.
 */
export async function openLoop(
  due: Iterable<number>,
  { beganMs, untilMs, maxUnderWay }: { beganMs: number; untilMs: number; maxUnderWay: number },
  begin: (dueMs: number) => Promise<void>,
): Promise<Pacing> {
  const underWay = new Set<Promise<void>>()
  const latenessMs: number[] = []
  let leftOut = 0
  for (const dueMs of due) {
    if (dueMs >= untilMs) break
    const leftMs = beganMs + dueMs - performance.now()
    if (leftMs > 0) await sleep(leftMs)
    latenessMs.push(Math.max(performance.now() - beganMs - dueMs, 0))
    if (underWay.size >= maxUnderWay) {
      leftOut += 1
      continue
    }
    const one = begin(dueMs).finally(() => underWay.delete(one))
    underWay.add(one)
  }
  await Promise.all(underWay)
  return { latenessMs, leftOut }
}
