import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** The ids of a process and all its descendants. */
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

/** Whether a process runs; a zombie does not. */
export const isRunning = (pid: number): Promise<boolean> =>
  promisify(execFile)('ps', ['-o', 'stat=', '-p', String(pid)]).then(
    ({ stdout }) => !stdout.trim().startsWith('Z'),
    () => false,
  )
