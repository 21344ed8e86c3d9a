import { randomUUID } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { processStart } from './runningProcess.ts'

export type Lock = { release(): Promise<void> }
export type LockOutcome = { lock: Lock } | { holderPid: number }

const pollMs = 10

/**
 * Takes the lock file `path` for this process, or tells which running process holds it.
 * A lock whose process has ended, however it ended, is taken over. The folder must exist.
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

/** A hard link appears whole or not at all, and only where nothing is. */
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
 * Only who holds the lock on healing removes a stale lock, so that nobody removes the fresh one of another who found the
 * same stale lock. Removes nothing when somebody else is at it.
 */
const removeStale = async (path: string, draft: string): Promise<void> => {
  const healing = `${path}.healing`
  if (await linked(draft, healing)) {
    try {
      if ((await liveHolder(path)) === undefined) await rm(path, { force: true })
    } finally {
      await rm(healing, { force: true })
    }
  } else if ((await contentOf(healing)) !== '' && (await liveHolder(healing)) === undefined) {
    await rm(healing, { force: true })
  } else {
    await delay(pollMs)
  }
}
