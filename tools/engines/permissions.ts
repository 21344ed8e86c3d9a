import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, chmod, constants, lchown, lstat, mkdir, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

export type User = { uid: number; gid: number }

export const executable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  )

export const findOnPath = async (name: string, env: NodeJS.ProcessEnv): Promise<string | undefined> => {
  for (const folder of (env['PATH'] ?? '').split(delimiter)) {
    if (folder !== '' && (await executable(join(folder, name)))) return join(folder, name)
  }
  return undefined
}

/** The user for programs that refuse to run as root, such as Elasticsearch; undefined if this process does not run as root. */
export const unprivilegedUser = (): User | undefined =>
  process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined

export const changeOwner = async ({ uid, gid }: User, folder: string): Promise<void> => {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    await lchown(join(entry.parentPath, entry.name), uid, gid)
  }
  await lchown(folder, uid, gid)
}

/** Whether `user` (undefined: the user of this process) may execute the file, or enter the folder, at `path`. */
export const accessibleTo = (user: User | undefined, path: string): Promise<boolean> =>
  new Promise((resolve) => {
    execFile('/bin/sh', ['-c', '[ -x "$1" ]', 'sh', path], { cwd: '/', ...user }, (error) => resolve(error === null))
  })

/**
 * Creates `folder` and returns it. If `user` cannot enter it (as for a clone under /root), uses a folder in the system's temporary folder, the same
 * at every call. Rejects if `user` can enter neither.
 */
export const accessibleFolder = async (folder: string, user: User | undefined): Promise<string> => {
  await mkdir(folder, { recursive: true })
  if (await accessibleTo(user, folder)) return folder
  const other = join(tmpdir(), `tidemark-${createHash('sha256').update(folder).digest('hex').slice(0, 12)}`)
  await mkdir(other, { recursive: true })
  const stats = await lstat(other)
  if (!stats.isDirectory() || stats.uid !== process.getuid?.()) throw new Error(`${other} belongs to another user`)
  await chmod(other, 0o755)
  if (await accessibleTo(user, other)) return other
  throw new Error(`a program runs as user ${user?.uid}, who can enter neither ${folder} nor ${other}: set TMPDIR`)
}
