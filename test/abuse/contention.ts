import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'

/** What is worked each time: longer than the operating system lets a thread run before others, and little of a core. */
const workMs = 20
const restMs = 180

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/**
 * Measures, until it is stopped, how many times as long work takes on this machine as it would if it had a core for itself. A thread of its own
 * works a little again and again.
 */
export function watchContention() {
  const worker = new Worker(new URL(import.meta.url))
  return {
    stop: async (): Promise<number> => {
      const answer = once(worker, 'message')
      worker.postMessage('stop')
      const [times] = (await answer) as [number]
      await worker.terminate()
      return times
    },
  }
}

if (!isMainThread) {
  const over = new AbortController()
  parentPort?.once('message', () => over.abort())
  let [workedMs, tookMs] = [0, 0]
  do {
    const [startedMs, beforeMs] = [performance.now(), cpuMs()]
    while (cpuMs() - beforeMs < workMs);
    workedMs += cpuMs() - beforeMs
    tookMs += performance.now() - startedMs
    await sleep(restMs, undefined, { signal: over.signal }).catch(() => undefined)
  } while (!over.signal.aborted)
  parentPort?.postMessage(Math.max(1, tookMs / workedMs))
}
