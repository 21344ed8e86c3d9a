import { readFile, rm, writeFile } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { type WaitOptions, waitUntil } from './waiting.ts'

export type Lock = { release(): Promise<void> }
type LockOutcome = { lock: Lock } | { holderPid: number }

/** SQLITE_BUSY. */
const busy = 5

/**
 * Acquires the lock at `path`, or returns the pid of its owner. It is the lock of an SQLite database, which the system releases when the process
 * ends, even by a kill. The folder must exist.
 */
export const acquireLock = async (path: string): Promise<LockOutcome> => {
  const database = new DatabaseSync(`${path}.sqlite`)
  try {
    database.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    if ((error as { errcode?: unknown }).errcode !== busy) throw error
    return { holderPid: Number(await readFile(path, 'utf8').catch(() => '')) }
  }
  await writeFile(path, String(process.pid))
  const release = async (): Promise<void> => {
    await rm(path, { force: true })
    database.close()
  }
  return { lock: { release } }
}

/** If another process owns the lock, rejects with the message that `refusal` returns for its pid. */
export const lockOrRefuse = async (path: string, refusal: (holderPid: number) => string): Promise<Lock> => {
  const outcome = await acquireLock(path)
  if ('lock' in outcome) return outcome.lock
  throw new Error(refusal(outcome.holderPid))
}

/** Acquires the lock once its owner has released it. Rejects after the deadline, and when aborted. */
export const waitForLock = async (path: string, options: WaitOptions): Promise<Lock> => {
  let outcome = { holderPid: 0 } as LockOutcome
  const isAcquired = async (): Promise<boolean> => {
    outcome = await acquireLock(path)
    return 'lock' in outcome
  }
  await waitUntil(isAcquired, options)
  if ('lock' in outcome) return outcome.lock
  throw new Error(`process ${outcome.holderPid} still holds ${path}`)
}
