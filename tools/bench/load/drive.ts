import type { Outcome, Pace } from './job.ts'

/** Takes turns at a pace; `ask` is told the number of the turn, from 0, and settles when it is over. */
export async function drive(ask: (turn: number) => Promise<void>, pace: Pace): Promise<Outcome> {
  let turn = 0
  const together = async (goesOn: () => boolean, note: (latencyMs: number) => void): Promise<void> => {
    const takeTurns = async (): Promise<void> => {
      while (goesOn()) {
        const beganMs = performance.now()
        await ask(turn++)
        note(performance.now() - beganMs)
      }
    }
    await Promise.all(Array.from({ length: pace.atOnce }, takeTurns))
  }
  await together(
    () => turn < pace.leadInTurns,
    () => undefined,
  )
  const first = turn
  const latenciesMs: number[] = []
  const beganMs = performance.now()
  const idle = performance.eventLoopUtilization()
  await together(
    () => turn - first < pace.maxTurns && performance.now() - beganMs < pace.maxMs,
    (latencyMs) => latenciesMs.push(latencyMs),
  )
  const busyShare = performance.eventLoopUtilization(idle).utilization
  return { latenciesMs, elapsedMs: performance.now() - beganMs, busyShare }
}
