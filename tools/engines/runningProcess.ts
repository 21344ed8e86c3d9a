import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The start time of process `pid`, which distinguishes it from a later one with the same pid; undefined when none runs. */
export const processStart = (pid: number): Promise<string | undefined> =>
  process.platform === 'linux' ? startOnLinux(pid) : startByPs(pid)

const startOnLinux = async (pid: number): Promise<string | undefined> => {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'latin1')
    // The command in parentheses may itself contain blanks and parentheses; the other fields follow the last one.
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

/** Sends `signal` to every process of a group; false when the group is empty. */
export const signalGroup = (groupId: number, signal: NodeJS.Signals | 0): boolean => {
  try {
    process.kill(-groupId, signal)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}
