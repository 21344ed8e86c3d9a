import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { processStart } from './runningProcess.ts'

const draftPrefix = '.unpacking-'

/** Whether `<folder>/<name>` exists. */
export const isUnpacked = async (folder: string, name: string): Promise<boolean> =>
  (await stat(join(folder, name)).catch(() => undefined)) !== undefined

/**
 * Creates the folder `<folder>/<name>` unless it exists, and returns its path. `unpack` fills the empty folder `draft` and
 * returns the folder inside it that becomes the result. This is atomic: several processes may do it at the same time.
 */
export const unpackOnce = async (
  folder: string,
  name: string,
  unpack: (draft: string) => Promise<string>,
): Promise<string> => {
  const home = join(folder, name)
  if (await isUnpacked(folder, name)) return home
  await mkdir(folder, { recursive: true })
  await removeAbandoned(folder)
  const draft = await mkdtemp(join(folder, `${draftPrefix}${process.pid}-`))
  try {
    await moveOnce(await unpack(draft), home)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
  return home
}

const removeAbandoned = async (folder: string): Promise<void> => {
  for (const name of await readdir(folder)) {
    const pid = Number(new RegExp(`^\\${draftPrefix}(\\d+)-`).exec(name)?.[1])
    if (pid > 0 && (await processStart(pid)) === undefined)
      await rm(join(folder, name), { recursive: true, force: true })
  }
}

const moveOnce = async (from: string, to: string): Promise<void> => {
  try {
    await rename(from, to)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    // Another process was faster, with the same content.
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error
  }
}
