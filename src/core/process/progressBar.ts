export type ProgressBar = {
  /** Shows that `value` of the total is done. */
  reach(value: number): void
  /** Ends the line of a terminal; to be called however the work ends. */
  end(): void
}

const barCharacters = 30
const redrawMs = 100
/** The share of the work from which on the time that is left is told. */
const toldFrom = 0.01

/** Shows how far `total` is done and how long the rest will take: a bar on a terminal, elsewhere a line every quarter. */
export function startProgressBar(label: string, total: number, stream: NodeJS.WriteStream): ProgressBar {
  const startedMs = performance.now()
  let quarters = 0
  let drawnMs = Number.NEGATIVE_INFINITY
  const reach = (reached: number): void => {
    const value = Math.min(reached, total)
    const [share, nowMs] = [value / total, performance.now()]
    const leftS = Math.round(((nowMs - startedMs) * (1 / share - 1)) / 1_000)
    const left = share < toldFrom ? '' : `, about ${leftS} s left`
    const text = `${value} of ${total}${share === 1 ? ', done' : left}`
    if (stream.isTTY) {
      if (share < 1 && nowMs - drawnMs < redrawMs) return
      drawnMs = nowMs
      const bar = '█'.repeat(Math.floor(share * barCharacters)).padEnd(barCharacters, '░')
      stream.write(`\r\x1b[K${label} ${bar} ${text}`)
    } else if (Math.floor(4 * share) > quarters) {
      quarters = Math.floor(4 * share)
      stream.write(`${label} ${text}\n`)
    }
  }
  return { reach, end: () => void (stream.isTTY && stream.write('\n')) }
}

/** Steps and progress of a command, for whoever watches it. */
export type TerminalReport = {
  step(text: string): void
  progress(what: string, done: number, total: number): void
  /** Ends the line of a terminal; to be called however the work ends. */
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
