import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { executable, findOnPath } from '../../engines/permissions.ts'
import { runSupervised } from '../../engines/supervisedProgram.ts'
import type { Stage } from '../stage.ts'

/** A program that can be run, or the reason why there is none. */
export type Built = { readonly program: string } | { readonly missing: string }

const source = fileURLToPath(new URL('go', import.meta.url))
const usualPlace = '/usr/local/go/bin/go'
/** The client of Elasticsearch is large, and everything is compiled the first time. */
const buildDeadlineMs = 900_000

/** Compiles the pipeline in Go, where this machine can. */
export async function buildGoPipeline({ folder, logsFolder, signal }: Stage): Promise<Built> {
  const go = (await findOnPath('go', process.env)) ?? ((await executable(usualPlace)) ? usualPlace : undefined)
  if (go === undefined) return { missing: 'Go is not installed' }
  const program = join(folder, 'go-pipeline')
  const logPath = join(logsFolder, 'go-build.log')
  const env = Object.fromEntries(Object.entries(process.env).flatMap(([name, value]) => (value ? [[name, value]] : [])))
  const command = { command: go, args: ['build', '-o', program, '.'], cwd: source, env }
  process.stdout.write('Compiling the pipeline in Go\n')
  try {
    await runSupervised(command, { what: 'go build', logPath, deadlineMs: buildDeadlineMs, signal })
    return { program }
  } catch (error) {
    signal.throwIfAborted()
    return { missing: `${(error as Error).message}; its log is ${logPath}` }
  }
}
