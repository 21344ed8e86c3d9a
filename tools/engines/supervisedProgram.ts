import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { signalGroup } from './runningProcess.ts'
import type { SupervisorFact, SupervisorOrder } from './supervisor.ts'
import { pause, within } from './waiting.ts'

export type Command = Omit<SupervisorOrder, 'graceMs' | 'lockPath'>
export type End = { how: string; ok: boolean }
/** A program that does not outlive this process. */
export type SupervisedProgram = {
  /** Leader and id of its process group. */
  pid: number
  /** Settles when the last process of the group is gone; never rejects. */
  ended: Promise<End>
  hasEnded(): boolean
  /** Asks it to end, insists after 7 s; returns when it is gone, after 10 s at the latest. */
  stop(): Promise<void>
}
export type Place = { logPath: string; lockPath?: string }

const graceMs = 7_000
const stopMs = 9_000
const wardenPath = fileURLToPath(new URL('./supervisor.ts', import.meta.url))

/** Starts `command`, its output appended to the log. Rejects when it cannot be started or `signal` aborts first. */
export const startSupervised = async (
  command: Command,
  place: Place,
  signal: AbortSignal,
): Promise<SupervisedProgram> => {
  signal.throwIfAborted()
  const log = await open(place.logPath, 'a')
  try {
    const warden = spawn(process.execPath, [wardenPath], { detached: true, stdio: ['pipe', 'pipe', log.fd] })
    const program = watch(warden, signal)
    const lockPath = place.lockPath === undefined ? {} : { lockPath: place.lockPath }
    const order: SupervisorOrder = { ...command, ...lockPath, graceMs }
    warden.stdin?.write(`${JSON.stringify(order)}\n`)
    return await program
  } finally {
    await log.close()
  }
}

const watch = async (warden: ChildProcess, signal: AbortSignal): Promise<SupervisedProgram> => {
  const { stdin, stdout } = warden
  if (stdin === null || stdout === null) throw new Error('the warden has no pipes')
  // What broke the pipe is told by the warden's end.
  stdin.on('error', () => undefined)
  const abort = () => stdin.end()
  signal.addEventListener('abort', abort)
  try {
    return await new Promise((resolve, reject) => {
      let end: End | undefined
      let pid: number | undefined
      let gone = false
      const ended = once(warden, 'close').then(() => {
        gone = true
        if (end === undefined && pid !== undefined) signalGroup(pid, 'SIGKILL')
        return end ?? { how: 'lost its warden', ok: false }
      })
      ended.then(() => reject(signal.aborted ? signal.reason : new Error('its warden ended early')), reject)
      createInterface({ input: stdout }).on('line', (line) => {
        const fact = JSON.parse(line) as SupervisorFact
        if ('failure' in fact) reject(signal.aborted ? signal.reason : new Error(fact.failure))
        else if ('end' in fact) end = { how: fact.end, ok: fact.ok }
        else {
          pid = fact.pid
          resolve({ pid, ended, hasEnded: () => gone, stop: () => stopWarded(warden, fact.pid, ended) })
        }
      })
    })
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

const stopWarded = async (warden: ChildProcess, pid: number, ended: Promise<End>): Promise<void> => {
  warden.stdin?.end()
  if ((await within(ended, stopMs)) !== undefined) return
  signalGroup(pid, 'SIGKILL')
  warden.kill('SIGKILL')
  await ended
}

/**
 * Runs `command` to its end. Rejects when it fails or takes longer than `deadlineMs`, and with the signal's reason
 * when aborted.
 */
export const runSupervised = async (
  command: Command,
  options: { what: string; logPath: string; deadlineMs: number; signal: AbortSignal },
): Promise<void> => {
  const { what, logPath, deadlineMs, signal } = options
  const program = await startSupervised(command, { logPath }, signal)
  const over = new AbortController()
  const deadline = pause(deadlineMs, AbortSignal.any([signal, over.signal])).catch(() => undefined)
  const end = await Promise.race([program.ended, deadline])
  over.abort()
  if (end?.ok) return
  await program.stop()
  signal.throwIfAborted()
  const outcome = end?.how ?? `took longer than ${deadlineMs / 1_000} s`
  throw new Error(`${what} ${outcome}`)
}
