import type { WriteStream } from 'node:tty'

export type Progress = {
  engine: string
  step: 'fetching' | 'unpacking' | 'starting' | 'ready'
  detail?: string | undefined
}
type ProgressView = { report(progress: Progress): void; end(): void }

/** On a terminal, rewrites one line; elsewhere, writes a line for every step. */
export const progressView = (stream: NodeJS.WriteStream | undefined): ProgressView =>
  stream?.isTTY ? liveLine(stream) : plainLines(stream)

const plainLines = (stream?: NodeJS.WritableStream): ProgressView => {
  const steps = new Map<string, string>()
  return {
    report: ({ engine, step, detail }) => {
      if (steps.get(engine) === step) return
      steps.set(engine, step)
      stream?.write(`${describe({ engine, step, detail: step === 'ready' ? detail : undefined })}\n`)
    },
    end: () => undefined,
  }
}

const liveLine = (stream: WriteStream): ProgressView => {
  const latest = new Map<string, string>()
  return {
    report: (progress) => {
      latest.set(progress.engine, describe(progress))
      const line = [...latest.values()].join(' · ')
      stream.write(`\r\u001B[K${line.slice(0, Math.max(0, stream.columns - 1))}`)
    },
    end: () => {
      stream.write('\r\u001B[K')
    },
  }
}

const describe = ({ engine, step, detail }: Progress): string =>
  detail === undefined ? `${engine}: ${step}` : `${engine}: ${step} ${detail}`
