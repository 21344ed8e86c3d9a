import autocannon from 'autocannon'
import { type Figures, percentile } from './report.ts'

export type HttpRequest = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Any other status ends the bench. */
  readonly expectedStatus: number
}

/** A function makes a new request each time. */
export type Asked = HttpRequest | (() => HttpRequest)

export type CpuMs = { readonly server: number | undefined; readonly elasticsearch: number | undefined }

/** Every connection sends the requests in this order, one at a time, and starts again. */
type Target = { readonly origin: string; readonly requests: readonly Asked[]; readCpuMs(): CpuMs }

export type Pace = {
  readonly connections: number
  /** The first requests, which are not counted. */
  readonly leadIn: number
  /** The load ends when the first of these bounds is reached. */
  readonly maxRequests: number
  readonly maxMs: number
}

export type Sample = Figures & Required<Pick<Figures, 'p50Ms' | 'p99Ms' | 'busyShare'>>

const requestTimeoutS = 30
/** How often (ms) autocannon checks whether it is to stop. Answers after the end do not count. */
const sampleMs = 50
const longestS = 600

/**
 * Sends requests over keep-alive connections. Records each latency, because percentiles of autocannon are whole milliseconds. Rejects if a connection
 * fails, an answer has an unexpected status, or `signal` aborts.
 */
export async function load({ origin, requests, readCpuMs }: Target, pace: Pace, signal: AbortSignal): Promise<Sample> {
  signal.throwIfAborted()
  const { connections, leadIn, maxRequests, maxMs } = pace
  const enough = new AbortController()
  const failed = new AbortController()
  const latenciesMs: number[] = []
  let answered = 0
  let beganMs = performance.now()
  let endedMs = 0
  let idle = performance.eventLoopUtilization()
  let cpuBefore = readCpuMs()
  let cpu = cpuBefore
  let busyShare = 0
  const onLatency = (latencyMs: number): void => {
    if (enough.signal.aborted) return
    answered += 1
    if (answered > leadIn) latenciesMs.push(latencyMs)
    endedMs = performance.now()
    if (answered === leadIn) {
      beganMs = endedMs
      idle = performance.eventLoopUtilization()
      cpuBefore = readCpuMs()
    }
    if (answered < leadIn || (latenciesMs.length < maxRequests && endedMs - beganMs < maxMs)) return
    busyShare = performance.eventLoopUtilization(idle).utilization
    cpu = readCpuMs()
    enough.abort()
  }
  const setupClient = (client: autocannon.Client): void => {
    client.setRequests(requests.map((asked) => checked(asked, (error) => failed.abort(error))))
    client.on('response', (_status, _bytes, latencyMs) => onLatency(latencyMs))
  }
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const settings = { timeout: requestTimeoutS, bailout: 1, sampleInt: sampleMs, duration: longestS }
  const instance = autocannon({ ...settings, url: origin, connections, setupClient }, (error: unknown) =>
    error ? reject(error as Error) : resolve(),
  )
  instance.on('reqError', (error: unknown) => failed.abort(error))
  AbortSignal.any([signal, failed.signal, enough.signal]).addEventListener('abort', () => instance.stop())
  await promise
  signal.throwIfAborted()
  failed.signal.throwIfAborted()
  return {
    ...sampleOf(latenciesMs, endedMs - beganMs, busyShare),
    ...cpuUsBetween(cpuBefore, cpu, latenciesMs.length),
  }
}

/** Means for one of `count` answers. */
export function cpuUsBetween(before: CpuMs, after: CpuMs, count: number) {
  const microsecondsEach = (from = Number.NaN, to = Number.NaN): number | undefined => {
    const us = (1_000 * (to - from)) / count
    return Number.isNaN(us) ? undefined : us
  }
  return {
    serverCpuUs: microsecondsEach(before.server, after.server),
    elasticsearchCpuUs: microsecondsEach(before.elasticsearch, after.elasticsearch),
  }
}

/** Throws if nothing was measured. */
export const sampleOf = (latenciesMs: readonly number[], elapsedMs: number, busyShare: number): Sample => ({
  p50Ms: percentile(latenciesMs, 0.5),
  p99Ms: percentile(latenciesMs, 0.99),
  perSecond: (1_000 * latenciesMs.length) / elapsedMs,
  count: latenciesMs.length,
  busyShare,
})

/** Calls `fail` for an answer with another status than expected: an error would end autocannon's parser. */
function checked(asked: Asked, fail: (error: Error) => void): autocannon.Request {
  if (typeof asked === 'function')
    return { ...checked(asked(), fail), setupRequest: (made) => ({ ...made, ...sent(asked()) }) }
  const { method, path, expectedStatus } = asked
  return {
    ...sent(asked),
    onResponse: (status, answer) => {
      if (status !== expectedStatus) fail(new Error(`${method} ${path} answers ${status}: ${answer.slice(0, 500)}`))
    },
  }
}

const sent = ({ method, path, headers, body }: HttpRequest): autocannon.Request => ({
  method,
  path,
  headers: { ...headers },
  ...(body !== undefined && { body }),
})
