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
