import { startProgressBar } from '../../../src/core/process/progressBar.ts'
import { type Running, runCeiling } from './contenders.ts'

/** Records a second of ready-made bodies by requests at once, and the number that was fastest. */
export type Trials = { readonly best: number; readonly perSecond: ReadonlyMap<number, number> }

const tried = [2, 3, 4]

/** Tries how many requests at once are best for the ceiling, after one run to warm up. */
export async function chooseRequests(running: Running): Promise<Trials> {
  const { fewerRecords, fewestRecords } = running.size
  const bar = startProgressBar('Trying the ceiling', tried.length + 1, process.stdout)
  const perSecond = new Map<number, number>()
  try {
    await runCeiling(running, fewestRecords, tried[0] ?? 1)
    bar.reach(1)
    for (const atOnce of tried) {
      const { records, elapsedMs } = await runCeiling(running, fewerRecords, atOnce)
      perSecond.set(atOnce, (1_000 * records) / elapsedMs)
      bar.reach(perSecond.size + 1)
    }
  } finally {
    bar.end()
  }
  return { best: fastestOf(perSecond), perSecond }
}

export function fastestOf(perSecond: ReadonlyMap<number, number>): number {
  const [first, ...others] = perSecond
  if (first === undefined) throw new Error('nothing was tried')
  const [best] = others.reduce((known, each) => (each[1] > known[1] ? each : known), first)
  return best
}
