import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { CommandName } from '../../bin/commands.ts'
import { chooseDistinctPorts } from '../../tools/engines/ports.ts'
import { eventually } from './eventually.ts'

/** A process of the project, run as a user runs it. */
export type Program = Awaited<ReturnType<typeof startProgram>>

const started = new Set<ChildProcess>()

/** Starts a command of the project in the folder `root`, on unique ports and address unless `environment` sets them. */
export async function startProgram(
  command: CommandName,
  environment: Readonly<Record<string, string>>,
  args: readonly string[] = [],
  root = '.',
) {
  const [free = 0, freeAdmin = 0] = await chooseDistinctPorts(2)
  const ports = { PORT: String(free), ADMIN_PORT: String(freeAdmin) }
  const { PORT: port, ADMIN_PORT: adminPort, HOST: host = '127.0.0.1' } = { ...ports, ...environment }
  const program = ['--disable-warning=TimeoutNegativeWarning', join(root, 'bin/tidemark.ts'), command]
  const child = spawn(process.execPath, [...program, ...args], {
    env: { ...process.env, ...ports, ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  started.add(child)
  child.once('exit', () => started.delete(child))
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  const adminUrl = `http://127.0.0.1:${adminPort}`
  return {
    adminUrl,
    url: `http://${host}:${port}`,
    pid: child.pid ?? 0,
    /** The log so far. */
    log: () => log,
    /** The value of a metric, summed over its labels that contain `labels`. */
    metric: async (name: string, labels = ''): Promise<number> => {
      const text = await (await fetch(`${adminUrl}/metrics`)).text()
      // An unknown metric would read as 0.
      if (!text.includes(`# TYPE ${name.replace(/_(bucket|count|sum)$/, '')}`)) throw new Error(`no metric ${name}`)
      const lines = text.split('\n').filter((line) => line.startsWith(name) && line.includes(labels))
      return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
    },
    /** Resolves with the exit code once the process has ended by itself. */
    ended: async (): Promise<number | null> => {
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      return child.exitCode
    },
    /** Sends a signal; resolves with the exit code (null if the signal killed the process). */
    end: async (signal: NodeJS.Signals): Promise<number | null> => {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
      const exited = once(child, 'exit')
      child.kill(signal)
      await exited
      return child.exitCode
    },
  }
}

export type Probed = {
  readonly code: number
  readonly body: {
    readonly status: string
    readonly checks: Readonly<Record<string, { readonly ok: boolean; readonly problem?: string }>>
  }
  readonly tookMs: number
}

/** The answer of a process to a probe. */
export async function probe({ adminUrl }: Program, path: 'livez' | 'readyz'): Promise<Probed> {
  const askedMs = Date.now()
  const answer = await fetch(`${adminUrl}/${path}`)
  return { code: answer.status, body: (await answer.json()) as Probed['body'], tookMs: Date.now() - askedMs }
}

/** Waits until `/readyz` reports a problem of a check that matches; returns the problem. */
export async function untilReported(program: Program, check: string, problem: RegExp): Promise<string> {
  let reported = ''
  await eventually(async () => {
    const answer = await probe(program, 'readyz').catch(() => undefined)
    reported = answer?.body.checks[check]?.problem ?? ''
    return problem.test(reported)
  })
  return reported
}

/** Waits until `/readyz` answers 200 and every check passes; rejects with its last answer. */
export async function untilReady(program: Program): Promise<void> {
  let lastAnswer = ''
  const isReady = async (): Promise<boolean> => {
    try {
      const answer = await fetch(`${program.adminUrl}/readyz`)
      lastAnswer = await answer.text()
      return answer.ok && !lastAnswer.includes('"ok":false')
    } catch (error) {
      lastAnswer = String(error)
      return false
    }
  }
  await eventually(isReady).catch(() => {
    throw new Error(`not ready: ${lastAnswer}\n${program.log()}`)
  })
}

/** Kills all programs that a test has left running. */
export function killPrograms(): void {
  for (const child of started) child.kill('SIGKILL')
}

export type Run = { readonly code: number; readonly stdout: string; readonly stderr: string }

/** Runs a command of the project to its end, as a user does. */
export const runCommand = (
  command: CommandName,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  { timeoutMs, root = '.' }: { readonly timeoutMs?: number; readonly root?: string } = {},
): Promise<Run> =>
  new Promise((resolve) => {
    const argv = ['--disable-warning=TimeoutNegativeWarning', join(root, 'bin/tidemark.ts'), command, ...args]
    const options = { env: { ...process.env, ...environment }, timeout: timeoutMs }
    execFile(process.execPath, argv, options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })

/** Ends a process whose configuration was accepted by mistake. On a busy machine, a start and its refusal take long. */
const refusalDeadlineMs = 60_000

/** The stderr of a process that exits with 78: one line per invalid setting. */
export async function refusalOf(
  command: CommandName,
  environment: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): Promise<string> {
  const settings = { PORT: '0', ADMIN_PORT: '0', ...environment }
  const { code, stdout, stderr } = await runCommand(command, args, settings, { timeoutMs: refusalDeadlineMs })
  if (code !== 78 || stdout !== '') throw new Error(`${command} ended with ${code}: ${stdout}${stderr}`)
  return stderr
}
