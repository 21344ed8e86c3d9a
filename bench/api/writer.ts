import { pause } from '../../engines/waiting.ts'
import type { ServedReplica } from './replica.ts'
import type { SubmissionRecord } from './submissions.ts'

/** Appends so many submissions a second while `work` goes on. Rejects when one of them cannot be appended. */
export async function whileWriting<T>(
  { append }: ServedReplica,
  next: () => SubmissionRecord,
  perSecond: number,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const over = new AbortController()
  const stop = AbortSignal.any([signal, over.signal])
  const beganMs = performance.now()
  const write = async (): Promise<void> => {
    for (let written = 0; !stop.aborted; written++) {
      await append([next()])
      const dueMs = beganMs + ((written + 1) * 1_000) / perSecond
      await pause(Math.max(dueMs - performance.now(), 0), stop).catch(() => undefined)
    }
  }
  const writing = write()
  try {
    const [outcome] = await Promise.all([work().finally(() => over.abort()), writing])
    return outcome
  } finally {
    over.abort()
  }
}
