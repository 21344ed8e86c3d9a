import { join } from 'node:path'
import { choosePort } from '../../engines/ports.ts'
import { startSupervised } from '../../engines/supervisedProgram.ts'
import { waitUntil } from '../../engines/waiting.ts'
import type { Stage } from '../stage.ts'

const startDeadlineMs = 30_000
const readDeadlineMs = 10_000

/**
 * Starts a server of the bench, a process of its own: `node <path> <port> <more…>`. Returns once `alivePath` is answered; the server
 * ends with the stage, or before.
 */
export async function startServer(
  stage: Stage,
  { path, more, alivePath }: { readonly path: string; readonly more: readonly string[]; readonly alivePath: string },
): Promise<{ readonly port: number; readonly origin: string; stop(): Promise<void> }> {
  const port = await choosePort()
  const program = await startSupervised(
    { command: process.execPath, args: [path, String(port), ...more], cwd: stage.folder, env: {} },
    { logPath: join(stage.logsFolder, 'servers.log') },
    stage.signal,
  )
  stage.release(() => program.stop())
  const origin = `http://127.0.0.1:${port}`
  await untilStarted(() => fetch(`${origin}${alivePath}`, { signal: within(stage) }), stage)
  return { port, origin, stop: () => program.stop() }
}

/** The deadline of one reading. */
export const within = ({ signal }: Stage): AbortSignal => AbortSignal.any([signal, AbortSignal.timeout(readDeadlineMs)])

/** Returns once `ask` is answered as it should be. */
export async function untilStarted(ask: () => Promise<Response>, { signal }: Stage): Promise<void> {
  const answers = (): Promise<boolean> =>
    ask().then(
      async (answer) => {
        await answer.arrayBuffer()
        return answer.ok
      },
      () => false,
    )
  if (await waitUntil(answers, { deadlineMs: startDeadlineMs, signal })) return
  throw new Error(`A server does not answer within ${startDeadlineMs / 1_000} s`)
}
