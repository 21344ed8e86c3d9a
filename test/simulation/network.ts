/** Simulated engines. */
export type EngineName = 'elasticsearch' | 'kafka' | 'redis'

/** The machine of a simulated engine. Its code runs between two events of the scheduler, so nothing else happens meanwhile. */
export type Host = {
  /** The engine's clock (epoch ms), which may be ahead, behind, or step. */
  nowMs(): number
  /** A random number, 0 ≤ x < 1. */
  random(): number
  /** Resolves after other events may have happened; `what` names the step in a trace. */
  pause(what: string): Promise<void>
  /** Calls `act` after this much true time (ms); returns a cancel function. */
  after(delayMs: number, what: string, act: () => void): () => void
}

/** A call without an answer. The engine may have carried the request out, unless it `refused`. */
export class NetworkFailure extends Error {
  override readonly name = 'NetworkFailure'
  readonly kind: 'unreachable' | 'timeout' | 'refused'

  constructor(kind: NetworkFailure['kind'], what: string) {
    super(`${what}: ${{ unreachable: 'connection lost', timeout: 'no answer in time', refused: 'refused' }[kind]}`)
    this.kind = kind
  }
}

type CallOptions = {
  /** Timeout by the caller's clock; the call then rejects with `timeout`. */
  readonly timeoutMs?: number | undefined
  /** Aborts the call, though the engine may still carry the request out. */
  readonly signal?: AbortSignal | undefined
}

/** The network between processes and engines. */
export type Network = {
  /**
   * Runs `work` at an engine, and returns its result or error to the calling process. Rejects with `NetworkFailure`. Never settles if the
   * process has ended.
   */
  call<T>(engine: EngineName, what: string, work: () => T | Promise<T>, options?: CallOptions): Promise<T>
}

/** A local host on this machine's clock, without delays. */
export const localHost = (random: () => number = Math.random): Host => ({
  nowMs: Date.now,
  random,
  pause: () => Promise.resolve(),
  after: (delayMs, _what, act) => {
    const timer = setTimeout(act, delayMs).unref()
    return () => clearTimeout(timer)
  },
})

/** A network without delays and failures. */
export const localNetwork: Network = {
  call: async (_engine, _what, work, { signal } = {}) => {
    signal?.throwIfAborted()
    return await work()
  },
}
