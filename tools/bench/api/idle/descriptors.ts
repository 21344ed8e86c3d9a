import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)
/** For what a process has open besides. */
const spare = 500
const deadlineMs = 5_000

/**
 * Says what is missing when a process may not have so many connections open: this one opens them, and a server that it starts, with
 * the same limit, accepts them.
 */
export async function lackingDescriptors(connections: number): Promise<string | undefined> {
  const needed = connections + spare
  const { stdout } = await run('sh', ['-c', 'ulimit -n'], { timeout: deadlineMs })
  const limit = stdout.trim()
  if (limit === 'unlimited' || Number(limit) >= needed) return undefined
  return `Idle connections are left out: ${count(connections)} of them take ${count(needed)} open files in each of two processes, and one may have ${count(Number(limit))}. Raise it: ulimit -n ${needed}.`
}

const count = (value: number): string => value.toLocaleString('en')
