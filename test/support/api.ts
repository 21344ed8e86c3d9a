import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { startApi } from '../../src/api/startApi.ts'
import { send, startInProcess, type TestAnswer, type TestRequest } from './inProcess.ts'

export type { TestAnswer, TestRequest } from './inProcess.ts'

export type TestApi = Awaited<ReturnType<typeof startTestApi>>

type ApiOptions = {
  readonly settings: Readonly<Record<string, string>>
  readonly nowMs?: () => number
  /** The monotonic clock (ms) that measures requests with `Prefer: wait`. */
  readonly elapsedMs?: () => number
  /** Waits until the API is ready to answer. */
  readonly awaitReady?: boolean
}

type LogLine = Readonly<Record<string, unknown>>

/** Starts the API in this process. */
export async function startTestApi({ settings, nowMs, elapsedMs, awaitReady = true }: ApiOptions) {
  const started = await startInProcess((service) => startApi(service, nowMs, elapsedMs), settings, awaitReady)
  const { port, metrics, readiness, log } = started
  return {
    port,
    metrics,
    readiness,
    get logLines(): readonly LogLine[] {
      const lines = log().split('\n').slice(0, -1)
      return lines.map((line) => JSON.parse(line) as LogLine)
    },
    send: (target: string, options?: TestRequest): Promise<TestAnswer> => send(port, target, options),
    close: (): Promise<void> => started.close(),
  }
}

/** Sends a request; the caller reads the body of the answer. */
export async function openAnswer(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ sent: ClientRequest; received: IncomingMessage }> {
  const sent = request({ port, path, agent: false, headers }).end()
  const [received] = (await once(sent, 'response')) as [IncomingMessage]
  return { sent, received }
}

/** The lines of an export. */
export function linesOf({ status, text }: TestAnswer): string[] {
  expect([status, text === '' || text.endsWith('\n')]).toEqual([200, true])
  return text.split('\n').slice(0, -1)
}
