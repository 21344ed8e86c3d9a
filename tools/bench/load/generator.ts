import { percentile } from '../statistics.ts'
import type { Job, Outcome } from './job.ts'
import { startThread } from './thread.ts'

/** What one run of a job brought. */
export type Sample = {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly perSecond: number
  readonly turns: number
  /** How much of the time the load generator itself was at work, 0 to 1: near 1 it was measured, not the server. */
  readonly busyShare: number
}

export type LoadGenerator = {
  /** Does a job, one at a time. Rejects when an answer is not as expected, or `signal` aborts. */
  perform(job: Job, signal: AbortSignal): Promise<Sample>
  close(): Promise<void>
}

/** Starts a thread that asks and measures. */
export function startLoadGenerator(): LoadGenerator {
  const thread = startThread<Job, Outcome>(new URL('./worker.ts', import.meta.url))
  return {
    perform: async (job, signal) => sampleOf(await thread.perform(job, signal)),
    close: () => thread.close(),
  }
}

/** Throws when nothing was measured. */
export const sampleOf = ({ latenciesMs, elapsedMs, busyShare }: Outcome): Sample => ({
  p50Ms: percentile(latenciesMs, 0.5),
  p99Ms: percentile(latenciesMs, 0.99),
  perSecond: (1_000 * latenciesMs.length) / elapsedMs,
  turns: latenciesMs.length,
  busyShare,
})
