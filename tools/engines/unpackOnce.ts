import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { waitForLock } from './lock.ts'

/** As long as a download may take. */
const lockDeadlineMs = 20 * 60_000

export const isUnpacked = async (folder: string, name: string): Promise<boolean> =>
  (await stat(join(folder, name)).catch(() => undefined)) !== undefined

/**
 * Creates the folder `<folder>/<name>` unless it exists, and returns its path. `unpack` fills the empty folder `draft`, and returns the folder in it
 * that becomes the result. Of several processes, one unpacks and the others wait.
 */
export const unpackOnce = async (
  folder: string,
  name: string,
  unpack: (draft: string) => Promise<string>,
  signal = new AbortController().signal,
): Promise<string> => {
  const home = join(folder, name)
  if (await isUnpacked(folder, name)) return home
  await mkdir(folder, { recursive: true })
  const lock = await waitForLock(join(folder, `.${name}.lock`), { deadlineMs: lockDeadlineMs, signal })
  const draft = join(folder, `.unpacking-${name}`)
  try {
    // A process that was killed has left its draft.
    await rm(draft, { recursive: true, force: true })
    if (await isUnpacked(folder, name)) return home
    await mkdir(draft)
    await rename(await unpack(draft), home)
  } finally {
    await rm(draft, { recursive: true, force: true })
    await lock.release()
  }
  return home
}
