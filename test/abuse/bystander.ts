import { setTimeout as sleep } from 'node:timers/promises'
import { type Program, startProgram, untilReady } from '../support/programs.ts'

const pauseMs = 20
const sampleEveryMs = 100

/** How many answers had each status, or none came. */
export type Outcome = Readonly<Record<string, number>>

/** How another team was answered, and the most memory of each process, while one team did harm. */
export type Watched = { readonly bystander: Outcome; readonly peakBytes: readonly number[] }

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
  const peakBytes = apis.map(() => 0)
  const repeat = async (work: () => Promise<unknown>, restMs: number): Promise<void> => {
    do {
      await work()
      await sleep(restMs)
    } while (!over.signal.aborted)
  }
  const running = [
    ...polls.map((poll) => repeat(async () => statuses.push(await poll()), pauseMs)),
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
      return { bystander: counted(statuses), peakBytes }
    },
  }
}

export function counted(statuses: readonly string[]): Outcome {
  return Object.fromEntries([...Map.groupBy(statuses, (status) => status)].map(([status, all]) => [status, all.length]))
}
