import { once } from 'node:events'
import { parentPort, Worker } from 'node:worker_threads'

/** A thread of its own that does jobs, one at a time. */
export type JobThread<Job, Outcome> = {
  /** Rejects with what the job fails with, or when `signal` aborts. */
  perform(job: Job, signal: AbortSignal): Promise<Outcome>
  close(): Promise<void>
}

/** Starts the program at `place` as a thread, undisturbed by what this one does; `data` becomes its `workerData`. */
export function startThread<Job, Outcome>(place: URL, data?: unknown): JobThread<Job, Outcome> {
  const worker = new Worker(place, { workerData: data })
  return {
    perform: async (job, signal) => {
      const answered = once(worker, 'message', { signal })
      worker.postMessage(job)
      const [said] = (await answered) as [{ outcome: Outcome } | { error: unknown }]
      if ('error' in said) throw said.error
      return said.outcome
    },
    close: async () => {
      await worker.terminate()
    },
  }
}

/** Has this thread do the jobs of the one that started it. */
export function doJobs<Job, Outcome>(perform: (job: Job) => Promise<Outcome>): void {
  parentPort?.on('message', (job: Job) => {
    perform(job).then(
      (outcome) => parentPort?.postMessage({ outcome }),
      (error: unknown) => parentPort?.postMessage({ error }),
    )
  })
}
