import { randomUUID } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { processStart } from './runningProcess.ts'

export type Lock = { release(): Promise<void> }
type LockOutcome = { lock: Lock } | { holderPid: number }

const pollMs = 10

/**
 * Takes the lock file `path` for this process, or returns the pid of the running process that holds it. The lock of a
 * process that has ended is taken over. The folder must exist.
 */
export const acquireLock = async (path: string): Promise<LockOutcome> => {
  const own = `${process.pid} ${await processStart(process.pid)}\n`
  const draft = `${path}.${randomUUID()}`
  await writeFile(draft, own)
  try {
    for (;;) {
      if (await linked(draft, path)) return { lock: { release: () => releaseLock(path, own) } }
      const holderPid = await liveHolder(path)
      if (holderPid !== undefined) return { holderPid }
      await removeStale(path, draft)
    }
  } finally {
    await rm(draft, { force: true })
  }
}

const releaseLock = async (path: string, own: string): Promise<void> => {
  if ((await contentOf(path)) === own) await rm(path, { force: true })
}

/** Creating a hard link is atomic and fails where a file exists. */
const linked = async (from: string, to: string): Promise<boolean> => {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

const contentOf = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '')

const liveHolder = async (path: string): Promise<number | undefined> => {
  const [pidText = '', start] = (await contentOf(path)).trim().split(/ (.*)/)
  const pid = Number(pidText)
  return pid > 0 && (await processStart(pid)) === start ? pid : undefined
}

/**
 * Removes a stale lock under a second lock, `<path>.takeover`: of several processes that found the same stale lock, none
 * may remove the fresh lock of the first. Waits a moment when another process holds the second lock.
 */
const removeStale = async (path: string, draft: string): Promise<void> => {
  const takeover = `${path}.takeover`
  if (await linked(draft, takeover)) {
    try {
      if ((await liveHolder(path)) === undefined) await rm(path, { force: true })
    } finally {
      await rm(takeover, { force: true })
    }
  } else if ((await contentOf(takeover)) !== '' && (await liveHolder(takeover)) === undefined) {
    await rm(takeover, { force: true })
  } else {
    await delay(pollMs)
  }
}
