import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { signalGroup } from './runningProcess.ts'
import type { SupervisorEvent, SupervisorRequest } from './supervisor.ts'
import { within } from './waiting.ts'

export type Command = Omit<SupervisorRequest, 'graceMs' | 'lockPath'>
type End = { how: string; ok: boolean }
/** A program that ends when this process ends. */
export type SupervisedProgram = {
  /** Also the id of its process group. */
  pid: number
  /** Resolves when the last process of the group has ended; never rejects. */
  ended: Promise<End>
  hasEnded(): boolean
  /** Sends SIGTERM, and SIGKILL after 7 s. Resolves when the program has ended, after 10 s at the latest. */
  stop(): Promise<void>
}
/** Output is appended to the log. The lock is owned while the program runs. */
export type LogAndLock = { logPath: string; lockPath?: string }

const graceMs = 7_000
const stopMs = 9_000
const supervisorPath = fileURLToPath(new URL('./supervisor.ts', import.meta.url))

/** Rejects if `command` cannot be started, or `signal` aborts before. */
export const startSupervised = async (
  command: Command,
  files: LogAndLock,
  signal: AbortSignal,
): Promise<SupervisedProgram> => {
  signal.throwIfAborted()
  const log = await open(files.logPath, 'a')
  try {
    const supervisor = spawn(process.execPath, [supervisorPath], { detached: true, stdio: ['pipe', 'pipe', log.fd] })
    const program = watch(supervisor, signal)
    const request: SupervisorRequest = { ...command, lockPath: files.lockPath, graceMs }
    supervisor.stdin?.write(`${JSON.stringify(request)}\n`)
    return await program
  } finally {
    await log.close()
  }
}

const watch = async (supervisor: ChildProcess, signal: AbortSignal): Promise<SupervisedProgram> => {
  const { stdin, stdout } = supervisor
  if (stdin === null || stdout === null) throw new Error('the supervisor has no pipes')
  // A broken pipe means that the supervisor has ended, which is reported.
  stdin.on('error', () => undefined)
  const abort = () => stdin.end()
  signal.addEventListener('abort', abort)
  try {
    return await new Promise((resolve, reject) => {
      let end: End | undefined
      let pid: number | undefined
      let gone = false
      const ended = once(supervisor, 'close').then(() => {
        gone = true
        if (end === undefined && pid !== undefined) signalGroup(pid, 'SIGKILL')
        return end ?? { how: 'lost its supervisor', ok: false }
      })
      ended.then(() => reject(signal.aborted ? signal.reason : new Error('its supervisor ended early')), reject)
      createInterface({ input: stdout }).on('line', (line) => {
        const event = JSON.parse(line) as SupervisorEvent
        if ('failure' in event) reject(signal.aborted ? signal.reason : new Error(event.failure))
        else if ('end' in event) end = { how: event.end, ok: event.ok }
        else {
          pid = event.pid
          resolve({ pid, ended, hasEnded: () => gone, stop: () => stopSupervised(supervisor, event.pid, ended) })
        }
      })
    })
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

const stopSupervised = async (supervisor: ChildProcess, pid: number, ended: Promise<End>): Promise<void> => {
  supervisor.stdin?.end()
  if ((await within(ended, stopMs)) !== undefined) return
  signalGroup(pid, 'SIGKILL')
  supervisor.kill('SIGKILL')
  await ended
}

/** Rejects if `command` fails or takes longer than `deadlineMs`, and with the signal's reason if aborted. */
export const runSupervised = async (
  command: Command,
  options: { what: string; logPath: string; deadlineMs: number; signal: AbortSignal },
): Promise<void> => {
  const { what, logPath, deadlineMs, signal } = options
  const program = await startSupervised(command, { logPath }, signal)
  const aborted = new Promise<undefined>((resolve) => signal.addEventListener('abort', () => resolve(undefined)))
  const end = await within(Promise.race([program.ended, aborted]), deadlineMs)
  if (end?.ok) return
  await program.stop()
  signal.throwIfAborted()
  const outcome = end?.how ?? `took longer than ${deadlineMs / 1_000} s`
  throw new Error(`${what} ${outcome}`)
}
