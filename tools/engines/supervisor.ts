/**
 * Runs one program for another process and never lets it outlive that process: the first line on stdin is a
 * SupervisorOrder, and when stdin ends, for whatever reason, the program's process group is ended. Facts go to stdout, one
 * JSON object a line; the program's output goes where this process's stderr goes.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { acquireLock, type Lock } from './lock.ts'
import { signalGroup } from './runningProcess.ts'

export type SupervisorOrder = {
  command: string
  args: string[]
  cwd: string
  env: Record<string, string>
  /** Whom to run it as, where this process may choose. */
  user?: { uid: number; gid: number }
  /** Held as long as the program runs, so that two never share one data folder. */
  lockPath?: string
  /** From the wish that it ends to the order. */
  graceMs: number
}
export type SupervisorFact = { pid: number } | { failure: string } | { end: string; ok: boolean }

const lockDeadlineMs = 20_000
const killMs = 1_000
const pollMs = 50

/** Whoever should hear it may be gone. */
const tell = (fact: SupervisorFact): void => {
  try {
    writeSync(1, `${JSON.stringify(fact)}\n`)
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

/** A stopped process takes no SIGTERM before it is continued. */
const endGroup = async (pid: number, graceMs: number): Promise<void> => {
  signalGroup(pid, 'SIGTERM')
  signalGroup(pid, 'SIGCONT')
  if (await groupEmpty(pid, graceMs)) return
  signalGroup(pid, 'SIGKILL')
  await groupEmpty(pid, killMs)
}

const takeLock = async (path: string, stopped: AbortSignal): Promise<Lock> => {
  const end = performance.now() + lockDeadlineMs
  for (;;) {
    const outcome = await acquireLock(path)
    if ('lock' in outcome) return outcome.lock
    if (performance.now() >= end) throw new Error(`another one still runs, kept by process ${outcome.holderPid}`)
    await delay(pollMs, undefined, { signal: stopped })
  }
}

const run = async (order: SupervisorOrder, stopped: AbortSignal): Promise<void> => {
  const { command, args, cwd, env, user } = order
  const program = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', 2, 2], ...user })
  await once(program, 'spawn')
  const exit = once(program, 'exit')
  const pid = program.pid as number
  tell({ pid })
  await Promise.race([exit, stopped.aborted ? undefined : once(stopped, 'abort')])
  await endGroup(pid, order.graceMs)
  const [code, signal] = (await exit) as [number | null, NodeJS.Signals | null]
  tell({ end: signal === null ? `exited with code ${code}` : `was ended by ${signal}`, ok: code === 0 })
}

const keep = async (order: SupervisorOrder, stopped: AbortSignal): Promise<void> => {
  const lock = order.lockPath === undefined ? undefined : await takeLock(order.lockPath, stopped)
  try {
    stopped.throwIfAborted()
    await run(order, stopped)
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
  const order = JSON.parse(line) as SupervisorOrder
  keep(order, stop.signal)
    .catch((error: unknown) => tell({ failure: error instanceof Error ? error.message : String(error) }))
    .finally(() => process.exit())
    .catch(() => process.exit(1))
})
