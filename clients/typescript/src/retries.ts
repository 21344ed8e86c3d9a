import { ApiError, isTemporary, type TidemarkError } from './errors.ts'

/** A request that failed and will be sent again. */
export interface Retry {
  readonly error: TidemarkError
  /** How often it has failed in a row. */
  readonly failures: number
  /** How long the client waits before it sends the request again. */
  readonly pauseMs: number
}

/** Resolves after `ms`; rejects with the reason of `signal` when that aborts before. */
export type Sleep = (ms: number, signal: AbortSignal | undefined) => Promise<void>

/** How failed requests are repeated. */
export interface RetryPolicy {
  readonly sleep: Sleep
  /** Called before each pause. */
  readonly onRetry: ((retry: Retry) => void) | undefined
  /** The sum of all pauses of a request before its error is thrown. */
  readonly patienceMs: number
}

const [leastPauseMs, greatestPauseMs] = [1_000, 60_000]
/** Proxies may ask for days; a client that waits so long passes for one that hangs. */
const greatestAskedPauseMs = 3_600_000

/**
 * Resolves with the result of `attempt`, repeated after failures that pass: after as long as `Retry-After` asks, otherwise after pauses that grow from a
 * second to a minute. Rejects with what does not pass, and with any error once the pauses would exceed the patience.
 */
export async function retrying<T>(
  attempt: () => Promise<T>,
  { sleep, onRetry, patienceMs }: RetryPolicy,
  signal: AbortSignal | undefined,
): Promise<T> {
  let pausedMs = 0
  for (let failures = 1; ; failures++) {
    try {
      return await attempt()
    } catch (error) {
      signal?.throwIfAborted()
      if (!isTemporary(error)) throw error
      const pauseMs = askedPauseMs(error) ?? growingPauseMs(failures)
      pausedMs += pauseMs
      if (pausedMs > patienceMs) throw error
      onRetry?.({ error, failures, pauseMs })
      await sleep(pauseMs, signal)
    }
  }
}

const askedPauseMs = (error: TidemarkError): number | undefined =>
  error instanceof ApiError ? error.retryAfterMs : undefined

/** Between half of the pause and all of it: many clients that failed at one moment do not come back at one moment. */
function growingPauseMs(failures: number): number {
  const pauseMs = Math.min(leastPauseMs * 2 ** (failures - 1), greatestPauseMs)
  return Math.ceil(pauseMs * (0.5 + Math.random() / 2))
}

/** The forms of dates in HTTP: of today (RFC 9110), with a year of two digits (RFC 850), and of C's `asctime`, which names no time zone. */
const httpDate = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*\d\d:\d\d:\d\d (?:GMT|\d{4})$/

/**
 * How long `Retry-After` asks to wait, at most an hour: a number of seconds, or a date. Undefined if it is neither, or not in the future. `date` is
 * the answer's own `Date`: the clock of the client may be wrong.
 */
export function readRetryAfter(value: string | null, date: string | null): number | undefined {
  const text = value?.trim() ?? ''
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : dateMs(text) - (dateMs(date ?? '') || Date.now())
  return ms > 0 ? Math.min(ms, greatestAskedPauseMs) : undefined
}

const dateMs = (text: string): number =>
  httpDate.test(text) ? Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) : Number.NaN

/** Waits in real time. */
export const sleep: Sleep = (ms, signal) =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const onAbort = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
