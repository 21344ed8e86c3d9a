import { type ProgressBar, startProgressBar } from '../src/core/process/progressBar.ts'

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
