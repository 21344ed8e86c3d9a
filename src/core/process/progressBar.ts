import cliProgress from 'cli-progress'

export type ProgressBar = {
  /** Shows that `value` of the total is done. */
  reach(value: number): void
  /** Restores the terminal; to be called however the work ends. */
  end(): void
}

/** Shows how far `total` is done and how long the rest will take: a bar on a terminal, elsewhere a line every quarter. */
export const startProgressBar = (label: string, total: number, stream: NodeJS.WriteStream): ProgressBar =>
  stream.isTTY ? bar(label, total, stream) : lines(label, total, stream)

function bar(label: string, total: number, stream: NodeJS.WriteStream): ProgressBar {
  const format = `${label} {bar} {value} of {total}{eta_formatted}`
  const options = { format, formatTime: timeLeft, stream, hideCursor: true }
  const single = new cliProgress.SingleBar(options, cliProgress.Presets.shades_grey)
  single.start(total, 0)
  return { reach: (value) => single.update(Math.min(value, total)), end: () => single.stop() }
}

/** Empty while the time is unknown: then cli-progress passes a word instead of a number. */
const timeLeft = (eta: unknown, options: cliProgress.Options, roundedToMultipleOf: number): string =>
  typeof eta === 'number' ? `, ${cliProgress.Format.TimeFormat(eta, options, roundedToMultipleOf).trim()} left` : ''

function lines(label: string, total: number, stream: NodeJS.WritableStream): ProgressBar {
  const startedMs = performance.now()
  let quarters = 0
  return {
    reach: (value) => {
      const reached = Math.floor((4 * Math.min(value, total)) / total)
      if (!(reached > quarters)) return
      quarters = reached
      const leftS = Math.round(((performance.now() - startedMs) * (total - value)) / value / 1_000)
      const left = reached === 4 ? 'done' : `about ${leftS} s left`
      stream.write(`${label} ${Math.min(value, total)} of ${total}, ${left}\n`)
    },
    end: () => undefined,
  }
}

/** Steps and progress of a command, for whoever watches it. */
export type TerminalReport = {
  step(text: string): void
  progress(what: string, done: number, total: number): void
  /** Restores the terminal; to be called however the work ends. */
  end(): void
}

/** Writes each step as a line, and progress as one bar at a time. */
export function reportTo(stream: NodeJS.WriteStream): TerminalReport {
  let bar: { readonly what: string; readonly total: number; readonly shown: ProgressBar } | undefined
  const end = (): void => {
    bar?.shown.end()
    bar = undefined
  }
  return {
    end,
    step: (text) => {
      end()
      stream.write(`${text}\n`)
    },
    progress: (what, done, total) => {
      if (total === 0) return
      if (bar?.what !== what || bar.total !== total) {
        end()
        bar = { what, total, shown: startProgressBar(what, total, stream) }
      }
      bar.shown.reach(done)
    },
  }
}
