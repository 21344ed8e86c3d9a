import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** A process and all that it started, directly or not. */
export async function treeOf(pid: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid='])
  const pairs = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
  const tree = [pid]
  for (const parent of tree) tree.push(...pairs.flatMap(([child = 0, of]) => (of === parent ? [child] : [])))
  return tree
}

/** Whether the process runs; one that has ended and that nobody has waited for does not. */
export const isRunning = (pid: number): Promise<boolean> =>
  promisify(execFile)('ps', ['-o', 'stat=', '-p', String(pid)]).then(
    ({ stdout }) => !stdout.trim().startsWith('Z'),
    () => false,
  )
