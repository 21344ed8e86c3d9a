import { setTimeout as sleep } from 'node:timers/promises'
import { type Program, startProgram, untilReady } from '../support/programs.ts'

const pauseMs = 20
const sampleEveryMs = 100

/** How many answers had each status, or none came. */
export type Outcome = Readonly<Record<string, number>>

/**
 * How another team was answered, how long 99 of 100 of its requests took at most, or would have taken if it had not waited for each answer before it asked
 * again, and the most memory of each process, while one team did harm.
 */
export type Watched = {
  readonly bystander: Outcome
  readonly p99Ms: number
  readonly peakBytes: readonly number[]
}

/** An API as in a container of 512 MiB: without a bound, garbage would be taken for use. */
export async function startBoundedApi(settings: Readonly<Record<string, string>>): Promise<Program> {
  const api = await startProgram('api', {
    RATE_LIMIT_PER_MINUTE: '1000000',
    LOG_LEVEL: process.env['LOG_LEVEL'] ?? 'fatal',
    NODE_OPTIONS: '--max-old-space-size=256',
    ...settings,
  })
  await untilReady(api)
  return api
}

/** Polls as another team, again and again in each of these ways, and looks at the memory of the processes, until it is stopped. */
export function watch(
  apis: readonly Program[],
  polls: readonly (() => Promise<string>)[],
): { stop(): Promise<Watched> } {
  const over = new AbortController()
  const statuses: string[] = []
  const tookMs: number[] = []
  const timed = async (poll: () => Promise<string>): Promise<void> => {
    const startedMs = performance.now()
    statuses.push(await poll())
    // A process that stands still for seconds holds up what a client would have asked for meanwhile, too.
    for (let ms = performance.now() - startedMs; ms > 0; ms -= pauseMs) tookMs.push(ms)
  }
  const peakBytes = apis.map(() => 0)
  const repeat = async (work: () => Promise<unknown>, restMs: number): Promise<void> => {
    do {
      await work()
      await sleep(restMs)
    } while (!over.signal.aborted)
  }
  const running = [
    ...polls.map((poll) => repeat(() => timed(poll), pauseMs)),
    ...apis.map((api, at) =>
      repeat(async () => {
        const bytes = await api.metric('process_resident_memory_bytes').catch(() => 0)
        peakBytes[at] = Math.max(peakBytes[at] ?? 0, bytes)
      }, sampleEveryMs),
    ),
  ]
  return {
    stop: async () => {
      over.abort()
      await Promise.all(running)
      return { bystander: counted(statuses), p99Ms: percentile(tookMs, 0.99), peakBytes }
    },
  }
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

export function counted(statuses: readonly string[]): Outcome {
  return Object.fromEntries([...Map.groupBy(statuses, (status) => status)].map(([status, all]) => [status, all.length]))
}
