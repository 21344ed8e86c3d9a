/**
 * Runs a program for a parent process, and ends its process group at the end of stdin, as after a kill of the parent. The first line on stdin is a
 * SupervisorRequest, each line on stdout a SupervisorEvent; stderr is the output of the program.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { waitForLock } from './lock.ts'
import { signalGroup } from './runningProcess.ts'

export type SupervisorRequest = {
  command: string
  args: string[]
  cwd: string
  env: NodeJS.ProcessEnv
  /** Applies if this process is root. */
  user?: { uid: number; gid: number }
  /** Two programs must not share a data folder: the lock is owned while the program runs. */
  lockPath?: string | undefined
  /** From SIGTERM to SIGKILL. */
  graceMs: number
}
export type SupervisorEvent = { pid: number } | { failure: string } | { end: string; ok: boolean }

const lockDeadlineMs = 20_000
const killMs = 1_000
const pollMs = 50

/** A write fails only when the parent process has ended. */
const report = (event: SupervisorEvent): void => {
  try {
    writeSync(1, `${JSON.stringify(event)}\n`)
  } catch {
    stop.abort()
  }
}

const groupEmpty = async (pid: number, deadlineMs: number): Promise<boolean> => {
  const end = performance.now() + deadlineMs
  while (signalGroup(pid, 0)) {
    if (performance.now() >= end) return false
    await delay(pollMs)
  }
  return true
}

/** A process that SIGSTOP has stopped handles SIGTERM only after SIGCONT. */
const endGroup = async (pid: number, graceMs: number): Promise<void> => {
  signalGroup(pid, 'SIGTERM')
  signalGroup(pid, 'SIGCONT')
  if (await groupEmpty(pid, graceMs)) return
  signalGroup(pid, 'SIGKILL')
  await groupEmpty(pid, killMs)
}

const run = async (request: SupervisorRequest, stopped: AbortSignal): Promise<void> => {
  const { command, args, cwd, env, user } = request
  const program = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', 2, 2], ...user })
  await once(program, 'spawn')
  const exit = once(program, 'exit')
  const pid = program.pid as number
  report({ pid })
  await Promise.race([exit, stopped.aborted ? undefined : once(stopped, 'abort')])
  await endGroup(pid, request.graceMs)
  const [code, signal] = (await exit) as [number | null, NodeJS.Signals | null]
  report({ end: signal === null ? `exited with code ${code}` : `was ended by ${signal}`, ok: code === 0 })
}

const runLocked = async (request: SupervisorRequest, stopped: AbortSignal): Promise<void> => {
  const lock =
    request.lockPath === undefined
      ? undefined
      : await waitForLock(request.lockPath, { deadlineMs: lockDeadlineMs, signal: stopped })
  try {
    stopped.throwIfAborted()
    await run(request, stopped)
  } finally {
    await lock?.release()
  }
}

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined)
process.on('SIGTERM', () => stop.abort())

const lines = createInterface({ input: process.stdin })
lines.once('close', () => stop.abort())
lines.once('line', (line) => {
  const request = JSON.parse(line) as SupervisorRequest
  runLocked(request, stop.signal)
    .catch((error: unknown) => report({ failure: error instanceof Error ? error.message : String(error) }))
    .finally(() => process.exit())
    .catch(() => process.exit(1))
})
