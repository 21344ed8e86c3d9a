import cliProgress from 'cli-progress'

export interface ProgressBar {
  reach(value: number): void
  /** Restores the terminal: call it after a failure, too. */
  end(): void
}

const lineEveryMs = 10_000

/** Shows the time left: in a bar on a terminal, otherwise in a line every ten seconds. */
export function startProgressBar(label: string, total: number, stream: NodeJS.WriteStream): ProgressBar {
  const format = `${label} {bar} {value} of {total}{eta_formatted}`
  const output = { stream, hideCursor: true, noTTYOutput: true, notTTYSchedule: lineEveryMs }
  const bar = new cliProgress.SingleBar({ format, formatTime: timeLeft, ...output }, cliProgress.Presets.shades_grey)
  bar.start(total, 0)
  return {
    reach: (value) => bar.update(Math.min(value, total)),
    end: () => bar.stop(),
  }
}

/** Empty while unknown: cli-progress then passes a text instead of seconds. */
const timeLeft = (eta: unknown, options: cliProgress.Options, roundedToMultipleOf: number): string =>
  typeof eta === 'number' ? `, ${cliProgress.Format.TimeFormat(eta, options, roundedToMultipleOf).trim()} left` : ''

export interface TerminalReport {
  /** Prints a line. Ends the bar. */
  step(text: string): void
  /** A new label or total begins a new bar. */
  progress(label: string, done: number, total: number): void
  end(): void
}

export function reportTo(stream: NodeJS.WriteStream): TerminalReport {
  let bar: { readonly label: string; readonly total: number; readonly progressBar: ProgressBar } | undefined
  const end = (): void => {
    bar?.progressBar.end()
    bar = undefined
  }
  return {
    end,
    step: (text) => {
      end()
      stream.write(`${text}\n`)
    },
    progress: (label, done, total) => {
      if (total === 0) return
      if (bar?.label !== label || bar.total !== total) {
        end()
        bar = { label, total, progressBar: startProgressBar(label, total, stream) }
      }
      bar.progressBar.reach(done)
    },
  }
}
