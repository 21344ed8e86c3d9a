import { pause } from '../../engines/waiting.ts'
import type { Replica } from '../replica.ts'
import type { SubmissionRecord } from '../submissions.ts'

/** An event, and when Kafka acknowledged it, on the clock of `performance`. */
export type Acknowledged = { readonly id: string; readonly acknowledgedMs: number }

export type Appending = {
  /** Makes the next event one of that team. Rejects when events cannot be appended. */
  next(teamId: string): Promise<Acknowledged>
  /** How many events are acknowledged. */
  appended(): number
  stop(): Promise<void>
}

type Wanted = { readonly teamId: string } & PromiseWithResolvers<Acknowledged>

const tickMs = 10

/** Appends so many events a second until it is stopped; those that are due at the same time go together. */
export function startAppending(
  append: (records: readonly SubmissionRecord[]) => ReturnType<Replica['append']>,
  make: (teamId: string | undefined) => SubmissionRecord,
  perSecond: number,
  signal: AbortSignal,
): Appending {
  const over = new AbortController()
  const ending = AbortSignal.any([signal, over.signal])
  const wanted: Wanted[] = []
  const beganMs = performance.now()
  let appended = 0

  const appendDue = async (): Promise<void> => {
    const due = Math.floor(((performance.now() - beganMs) * perSecond) / 1_000) - appended
    if (due <= 0) return
    const chosen = wanted.splice(0, due)
    const records = Array.from({ length: due }, (_, at) => make(chosen[at]?.teamId))
    await append(records)
    appended += due
    const acknowledgedMs = performance.now()
    for (const [at, { resolve }] of chosen.entries()) resolve({ id: records[at]?.id ?? '', acknowledgedMs })
  }
  const run = async (): Promise<void> => {
    while (!ending.aborted) {
      await appendDue()
      await pause(tickMs, ending).catch(() => undefined)
    }
  }
  const running = run()
  const ended = running.then((): never => {
    throw ending.reason
  })
  // Whoever waits next is told, and `stop` rejects.
  ended.catch(() => undefined)
  return {
    next: (teamId) => {
      const one: Wanted = { teamId, ...Promise.withResolvers<Acknowledged>() }
      wanted.push(one)
      return Promise.race([one.promise, ended])
    },
    appended: () => appended,
    stop: async () => {
      over.abort(new Error('nothing is appended any more'))
      await running
    },
  }
}
