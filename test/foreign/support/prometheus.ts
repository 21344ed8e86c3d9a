import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { findOnPath } from '../../../tools/engines/permissions.ts'
import { choosePort } from '../../../tools/engines/ports.ts'
import { describeWith } from './describeWith.ts'
import { startOwnProgram } from './ownProgram.ts'

const promtoolDeadlineMs = 60_000
const queryDeadlineMs = 10_000

const programs = await Promise.all(['prometheus', 'promtool'].map((name) => findOnPath(name, process.env)))

export const describePrometheus = describeWith('prometheus', !programs.includes(undefined))

/** Runs promtool and returns its output; rejects with the output when promtool fails. */
export async function promtool(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('promtool', args, { timeout: promtoolDeadlineMs }).catch(
    (error: Error & { stdout?: string; stderr?: string }) => {
      throw new Error(`promtool ${args.join(' ')}: ${error.message}\n${error.stdout}${error.stderr}`)
    },
  )
  return stdout
}

/** A series of a query result, instant or range. */
export type Series = {
  readonly metric: Readonly<Record<string, string>>
  readonly value?: readonly [number, string]
  readonly values?: readonly (readonly [number, string])[]
}

/** A Prometheus on loopback, for one test file. */
export type Prometheus = {
  /** Calls the HTTP API as Grafana does: `query`, `query_range`, `series`. */
  ask<T = { readonly result: readonly Series[] }>(
    path: string,
    parameters: Readonly<Record<string, string>>,
  ): Promise<T>
  close(): Promise<void>
}

/** Starts Prometheus; its configuration is written as JSON, which is valid YAML. */
export async function startPrometheus(configuration: object): Promise<Prometheus> {
  const port = await choosePort()
  const url = `http://127.0.0.1:${port}`
  const args = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', `--web.listen-address=127.0.0.1:${port}`]
  const file = { name: 'prometheus.yml', content: JSON.stringify(configuration) }
  const program = await startOwnProgram('prometheus', args, file, `${url}/-/ready`)
  return {
    ask: async <T>(path: string, parameters: Readonly<Record<string, string>>): Promise<T> => {
      const address = `${url}/api/v1/${path}?${new URLSearchParams(parameters)}`
      const answer = await fetch(address, { signal: AbortSignal.timeout(queryDeadlineMs) })
      const { status, error, data } = (await answer.json()) as { status: string; error?: string; data: T }
      if (status !== 'success') throw new Error(`${JSON.stringify(parameters)}: ${error}`)
      return data
    },
    close: program.close,
  }
}
