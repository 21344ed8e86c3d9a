import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { choosePort } from '../../../tools/engines/ports.ts'
import { startSupervised } from '../../../tools/engines/supervisedProgram.ts'
import { eventually } from '../../support/eventually.ts'
import { describeWith } from './describeWith.ts'

const promtoolDeadlineMs = 60_000
const queryDeadlineMs = 10_000

const isOnPath = (name: string): boolean =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => folder !== '' && existsSync(join(folder, name)))

export const describePrometheus = describeWith('prometheus', isOnPath('prometheus') && isOnPath('promtool'))

/** Runs promtool and returns what it said; rejects with that when it finds something wrong. */
export async function promtool(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('promtool', args, { timeout: promtoolDeadlineMs }).catch(
    (error: Error & { stdout?: string; stderr?: string }) => {
      throw new Error(`promtool ${args.join(' ')}: ${error.message}\n${error.stdout}${error.stderr}`)
    },
  )
  return stdout
}

/** One series of an answer, at one instant or over a range. */
export type Series = {
  readonly metric: Readonly<Record<string, string>>
  readonly value?: readonly [number, string]
  readonly values?: readonly (readonly [number, string])[]
}

/** A Prometheus of its own on loopback. */
export type Prometheus = {
  /** Asks its API, as Grafana does: `query`, `query_range`, `series`. */
  ask<T = { readonly result: readonly Series[] }>(
    path: string,
    parameters: Readonly<Record<string, string>>,
  ): Promise<T>
  close(): Promise<void>
}

/** Starts Prometheus with a configuration, in JSON, which is YAML, too. */
export async function startPrometheus(configuration: object): Promise<Prometheus> {
  const port = await choosePort()
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-prometheus-'))
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(configuration))
  const args = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', `--web.listen-address=127.0.0.1:${port}`]
  const logPath = join(folder, 'said.log')
  const order = { command: 'prometheus', args, cwd: folder, env: { PATH: process.env['PATH'] ?? '' } }
  const program = await startSupervised(order, { logPath }, new AbortController().signal)
  const url = `http://127.0.0.1:${port}`
  await eventually(async () => {
    if (program.hasEnded()) throw new Error(`prometheus has ended; it said:\n${await readFile(logPath, 'utf8')}`)
    return await fetch(`${url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
  })
  return {
    ask: async <T>(path: string, parameters: Readonly<Record<string, string>>): Promise<T> => {
      const address = `${url}/api/v1/${path}?${new URLSearchParams(parameters)}`
      const answer = await fetch(address, { signal: AbortSignal.timeout(queryDeadlineMs) })
      const { status, error, data } = (await answer.json()) as { status: string; error?: string; data: T }
      if (status !== 'success') throw new Error(`${JSON.stringify(parameters)}: ${error}`)
      return data
    },
    close: async () => {
      await program.stop()
      await rm(folder, { recursive: true })
    },
  }
}
