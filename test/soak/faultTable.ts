import type { SeenDuringFaults } from '../model/pollingReader.ts'
import type { Fault } from './faults.ts'

/** What readers saw of each fault: the sums and the worst of all rounds in which it was done. */
export class FaultTable {
  readonly #rows = new Map<string, SeenDuringFaults & { times: number }>()

  add(fault: Fault, seen: SeenDuringFaults): void {
    const what = fault.name.replace(/-\d+ | for .*/g, ' ').trim()
    const row = this.#rows.get(what)
    this.#rows.set(what, {
      times: 1 + (row?.times ?? 0),
      answers: seen.answers + (row?.answers ?? 0),
      refusals: seen.refusals + (row?.refusals ?? 0),
      longestGapMs: Math.max(seen.longestGapMs, row?.longestGapMs ?? 0),
      oldestMs: Math.max(seen.oldestMs, row?.oldestMs ?? 0),
    })
  }

  get rounds(): number {
    return this.#rows.values().reduce((sum, { times }) => sum + times, 0)
  }

  /** As lines of Markdown. */
  lines(): string[] {
    return [
      '| fault | times | answers | 503 | longest gap | oldest watermark |',
      '|---|---|---|---|---|---|---|',
      ...[...this.#rows].map(([what, { times, answers, refusals, longestGapMs, oldestMs }]) => {
        const seconds = [longestGapMs, oldestMs].map((ms) => `${(ms / 1_000).toFixed(1)} s`)
        return `| ${[what, times, answers, refusals, ...seconds].join(' | ')} |`
      }),
    ]
  }
}
