import { AsyncLocalStorage } from 'node:async_hooks'
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import timersPromises from 'node:timers/promises'

// Replaces clocks, timers and randomness of this process by simulated ones, which act as the real ones outside of a simulation. Import
// this before any other module, so that none keeps the real ones.

/** Clock, timers and randomness of one simulated process. */
export type Simulated = {
  /** The wall clock of the process (epoch ms). */
  wallClockMs(): number
  /** Monotonic time since the start of the process (ms). */
  elapsedMs(): number
  random(): number
  /** Calls `act` in the process after `delayMs`; returns a cancel function. */
  after(delayMs: number, act: () => void): () => void
}

const running = new AsyncLocalStorage<Simulated>()

/** Runs code with the clocks, timers and randomness of `simulated`, across awaits too. */
export const runSimulated = <T>(simulated: Simulated, code: () => T): T => running.run(simulated, code)

/** The process whose code is running; undefined outside of a simulation. */
export const runningProcess = (): Simulated | undefined => running.getStore()

/** Callbacks per turn of the event loop: each turn polls the operating system, which takes longer than most callbacks. */
const callbacksPerTurn = 64

/**
 * Calls `act` until it returns false; rejects with what it throws. Between two calls, Node drains its microtask and nextTick queues, as
 * after any callback.
 */
export function realTurns(act: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    let goesOn = true
    const step = (): void => {
      if (!goesOn) return
      try {
        goesOn = act()
        if (!goesOn) resolve()
      } catch (error) {
        goesOn = false
        reject(error as Error)
      }
    }
    const turn = (): void => {
      if (!goesOn) return
      for (let count = 0; count < callbacksPerTurn; count++) real.setImmediate(step)
      real.setImmediate(turn)
    }
    turn()
  })
}

const RealDate = globalThis.Date
class VirtualDate extends RealDate {
  constructor(...values: unknown[]) {
    // biome-ignore lint/suspicious/noExplicitAny: the overloads of Date
    super(...((values.length === 0 ? [VirtualDate.now()] : values) as [any]))
  }

  static override now(): number {
    return running.getStore()?.wallClockMs() ?? RealDate.now()
  }
}

/** The part of `setTimeout`'s result that the product uses. */
class VirtualTimer {
  readonly #act: () => void
  readonly #delayMs: number
  readonly #repeats: boolean
  #cancel: () => void = () => undefined

  constructor(act: () => void, delayMs: number, repeats: boolean) {
    this.#act = act
    this.#delayMs = delayMs
    this.#repeats = repeats
    this.refresh()
  }

  refresh(): this {
    this.close()
    const process = running.getStore()
    this.#cancel =
      process?.after(this.#delayMs, () => {
        if (this.#repeats) this.refresh()
        this.#act()
      }) ?? this.#cancel
    return this
  }

  close(): this {
    this.#cancel()
    return this
  }

  unref(): this {
    return this
  }
}

type Act = (...values: unknown[]) => void
type RealTimer = Parameters<typeof clearTimeout>[0]

const real = {
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  setImmediate: globalThis.setImmediate,
  clearImmediate: globalThis.clearImmediate,
  performanceNow: performance.now.bind(performance),
  random: Math.random,
  timeout: AbortSignal.timeout.bind(AbortSignal),
  any: AbortSignal.any.bind(AbortSignal),
  sleep: timersPromises.setTimeout,
  nextTurn: timersPromises.setImmediate,
  randomBytes: crypto.randomBytes,
  randomUUID: crypto.randomUUID,
}

const isRunning = (): boolean => running.getStore() !== undefined

const setTimer = (act: Act, delayMs: number | undefined, values: unknown[], repeats: boolean): VirtualTimer =>
  new VirtualTimer(() => act(...values), Math.max(1, delayMs ?? 1), repeats)

function clear(timer: unknown): void {
  if (timer instanceof VirtualTimer) timer.close()
  else real.clearTimeout(timer as RealTimer)
}

const timers = {
  setTimeout: (act: Act, delayMs?: number, ...values: unknown[]) =>
    isRunning() ? setTimer(act, delayMs, values, false) : real.setTimeout(act, delayMs, ...values),
  setInterval: (act: Act, delayMs?: number, ...values: unknown[]) =>
    isRunning() ? setTimer(act, delayMs, values, true) : real.setInterval(act, delayMs, ...values),
  setImmediate: (act: Act, ...values: unknown[]) =>
    isRunning() ? setTimer(act, 0, values, false) : real.setImmediate(act, ...values),
  clearTimeout: clear,
  clearInterval: clear,
  clearImmediate: (timer: unknown) =>
    timer instanceof VirtualTimer ? timer.close() : real.clearImmediate(timer as NodeJS.Immediate),
}

class AbortError extends Error {
  override readonly name = 'AbortError'
  readonly code = 'ABORT_ERR'

  constructor(signal: AbortSignal) {
    super('The operation was aborted', { cause: signal.reason })
  }
}

type SleepOptions = { readonly signal?: AbortSignal }

function sleep<T>(delayMs?: number, value?: T, { signal }: SleepOptions = {}): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(new AbortError(signal))
      return
    }
    const onAbort = (): void => {
      timer.close()
      if (signal !== undefined) reject(new AbortError(signal))
    }
    const wake = (): void => {
      signal?.removeEventListener('abort', onAbort)
      resolve(value as T)
    }
    const timer = new VirtualTimer(wake, Math.max(1, delayMs ?? 1), false)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

function timeoutSignal(delayMs: number): AbortSignal {
  if (!isRunning()) return real.timeout(delayMs)
  const controller = new AbortController()
  const reason = new DOMException('The operation was aborted due to timeout', 'TimeoutError')
  setTimer(() => controller.abort(reason), delayMs, [], false)
  return controller.signal
}

/** Replaces `AbortSignal.any`, which leaks: it keeps a signal with listeners alive until a source aborts. */
function anySignal(signals: AbortSignal[]): AbortSignal {
  if (!isRunning()) return real.any(signals)
  const controller = new AbortController()
  for (const signal of signals) {
    const abort = (): void => controller.abort(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  }
  return controller.signal
}

function bytes(count: number): Buffer {
  const process = running.getStore()
  if (process === undefined) return real.randomBytes(count)
  return Buffer.from(Array.from({ length: count }, () => Math.floor(process.random() * 256)))
}

function uuid(): ReturnType<typeof crypto.randomUUID> {
  if (!isRunning()) return real.randomUUID()
  const hex = bytes(16).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
}

Object.assign(globalThis, { Date: VirtualDate, ...timers })
performance.now = () => running.getStore()?.elapsedMs() ?? real.performanceNow()
Math.random = () => running.getStore()?.random() ?? real.random()
AbortSignal.timeout = timeoutSignal
AbortSignal.any = anySignal
Object.assign(timersPromises, {
  setTimeout: (delayMs?: number, value?: unknown, options?: SleepOptions) =>
    isRunning() ? sleep(delayMs, value, options) : real.sleep(delayMs, value, options),
  setImmediate: (value?: unknown, options?: SleepOptions) =>
    isRunning() ? sleep(0, value, options) : real.nextTurn(value, options),
})
Object.assign(crypto, { randomBytes: bytes, randomUUID: uuid })
syncBuiltinESMExports()
