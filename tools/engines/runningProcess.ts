import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * What tells the process `pid` from a later one that was given the same number: the moment it started.
 * Undefined when no such process runs.
 */
export const processStart = (pid: number): Promise<string | undefined> =>
  process.platform === 'linux' ? startOnLinux(pid) : startByPs(pid)

const startOnLinux = async (pid: number): Promise<string | undefined> => {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'latin1')
    // The command in brackets may itself hold blanks and brackets; the fields that count follow the last one.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [state, ticksSinceBoot] = [fields[0], fields[19]]
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'latin1')
    return state === 'Z' || ticksSinceBoot === undefined ? undefined : `${boot.trim()}/${ticksSinceBoot}`
  } catch {
    return undefined
  }
}

const startByPs = async (pid: number): Promise<string | undefined> => {
  try {
    const { stdout } = await run('ps', ['-o', 'lstart=', '-p', String(pid)], { env: { ...process.env, LC_ALL: 'C' } })
    return stdout.trim() || undefined
  } catch {
    return undefined
  }
}

/** Sends `signal` to every process of a group; answers false when the group is empty. */
export const signalGroup = (groupId: number, signal: NodeJS.Signals | 0): boolean => {
  try {
    process.kill(-groupId, signal)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}
