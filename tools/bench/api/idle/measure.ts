import { startProgressBar } from '../../../../src/core/process/progressBar.ts'
import { pause } from '../../../engines/waiting.ts'
import { runRounds, runsIn } from '../../rounds.ts'
import { askRepeatedly, idleConnections } from './connections.ts'
import type { Server } from './servers.ts'
import type { IdleSize } from './size.ts'

/** One server in one round. */
export type IdleRun = {
  readonly beforeBytes: number
  /** By how many there were, KiB of each. */
  readonly connections: ReadonlyMap<number, number>
}

const kibibyte = 1024

/** Starts each server in turn, has ever more connections idle on it, and looks at its memory. */
export async function measureIdle(
  servers: readonly Server[],
  size: IdleSize,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly IdleRun[]>> {
  const contenders = servers.map((server) => ({ name: server.name, run: () => runOnce(server, size, signal) }))
  const total = runsIn(size.rounds, contenders.length)
  const bar = startProgressBar('Measuring idle connections', total, process.stdout)
  return await runRounds(contenders, { ...size.rounds, report: bar.reach }).finally(bar.end)
}

async function runOnce(server: Server, size: IdleSize, signal: AbortSignal): Promise<IdleRun> {
  const { port, request, status, residentBytes, stop } = await server.start()
  const idle = idleConnections(port, request, status)
  const settled = async (): Promise<number> => {
    await pause(size.settleMs, signal)
    return await residentBytes()
  }
  try {
    await askRepeatedly(port, { request, status, times: size.warmUpRequests }, signal)
    const beforeBytes = await settled()
    const connections = new Map<number, number>()
    for (const count of size.connections) {
      await idle.reach(count, signal)
      const bytes = await settled()
      // A server that has let some go already would seem to need less.
      if (idle.open() !== count) throw new Error(`${server.name} holds ${idle.open()} of ${count} idle connections`)
      connections.set(count, (bytes - beforeBytes) / count / kibibyte)
    }
    return { beforeBytes, connections }
  } finally {
    await idle.close()
    await stop()
  }
}
