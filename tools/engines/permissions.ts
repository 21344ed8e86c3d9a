import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, lstat, mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type User = { uid: number; gid: number }

/** Elasticsearch, for one, refuses to run as root; this is whom it runs as instead. Undefined: as whoever runs this. */
export const unprivilegedUser = (): User | undefined =>
  process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined

/** Whether `user` may run the file, or enter the folder, at `path`. */
export const reachableBy = (user: User | undefined, path: string): Promise<boolean> =>
  new Promise((resolve) => {
    execFile('/bin/sh', ['-c', '[ -x "$1" ]', 'sh', path], { cwd: '/', ...user }, (error) => resolve(error === null))
  })

/**
 * Makes `folder`, or, where `user` cannot get to it (a clone under /root, say), one in the system's temporary folder
 * that is the same at every call. Returns the one that was made. Rejects when neither can be reached.
 */
export const reachableFolder = async (folder: string, user: User | undefined): Promise<string> => {
  await mkdir(folder, { recursive: true })
  if (await reachableBy(user, folder)) return folder
  const other = join(tmpdir(), `tidemark-${createHash('sha256').update(folder).digest('hex').slice(0, 12)}`)
  await mkdir(other, { recursive: true })
  const found = await lstat(other)
  if (!found.isDirectory() || found.uid !== process.getuid?.()) throw new Error(`${other} belongs to somebody else`)
  await chmod(other, 0o755)
  if (await reachableBy(user, other)) return other
  throw new Error(`a program runs as user ${user?.uid}, who reaches neither ${folder} nor ${other}: set TMPDIR`)
}
