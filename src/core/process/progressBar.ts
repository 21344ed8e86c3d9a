import cliProgress from 'cli-progress'

export type ProgressBar = ReturnType<typeof startProgressBar>

/** How often progress is written where there is no terminal. */
const lineEveryMs = 10_000

/** Shows progress towards `total` with the time left: a bar on a terminal, elsewhere a line every ten seconds. */
export function startProgressBar(label: string, total: number, stream: NodeJS.WriteStream) {
  const format = `${label} {bar} {value} of {total}{eta_formatted}`
  const output = { stream, hideCursor: true, noTTYOutput: true, notTTYSchedule: lineEveryMs }
  const bar = new cliProgress.SingleBar({ format, formatTime: timeLeft, ...output }, cliProgress.Presets.shades_grey)
  bar.start(total, 0)
  return {
    /** Shows that `value` of the total is done. */
    reach: (value: number): void => bar.update(Math.min(value, total)),
    /** Restores the terminal; call it even if the work fails. */
    end: (): void => bar.stop(),
  }
}

/** Formats the time left; empty while unknown, when cli-progress passes a word instead of a number. */
const timeLeft = (eta: unknown, options: cliProgress.Options, roundedToMultipleOf: number): string =>
  typeof eta === 'number' ? `, ${cliProgress.Format.TimeFormat(eta, options, roundedToMultipleOf).trim()} left` : ''

/** Reports steps and progress of a command on a terminal. */
export type TerminalReport = ReturnType<typeof reportTo>

/** Writes each step as a line, and progress as one bar at a time. `end` restores the terminal; call it even if the work fails. */
export function reportTo(stream: NodeJS.WriteStream) {
  let bar: { readonly what: string; readonly total: number; readonly shown: ProgressBar } | undefined
  const end = (): void => {
    bar?.shown.end()
    bar = undefined
  }
  return {
    end,
    step: (text: string): void => {
      end()
      stream.write(`${text}\n`)
    },
    progress: (what: string, done: number, total: number): void => {
      if (total === 0) return
      if (bar?.what !== what || bar.total !== total) {
        end()
        bar = { what, total, shown: startProgressBar(what, total, stream) }
      }
      bar.shown.reach(done)
    },
  }
}
