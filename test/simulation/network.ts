/** The engines that are simulated. */
export type EngineName = 'elasticsearch' | 'kafka' | 'redis'

/** Where a simulated engine runs. Its code runs between two events of the scheduler, so nothing else happens meanwhile. */
export type Host = {
  /** What the clock of this engine reads (epoch ms); it may be ahead, behind, or step. */
  nowMs(): number
  /** A number from 0 to below 1. */
  random(): number
  /** Resolves after other events may have happened; `what` names the step in a trace. */
  pause(what: string): Promise<void>
  /** Calls `act` after this much true time (ms); returns what cancels it. */
  after(delayMs: number, what: string, act: () => void): () => void
}

/** A call did not bring an answer. Whether the engine has done what it was asked to do is not known, unless it has `refused`. */
export class NetworkFailure extends Error {
  override readonly name = 'NetworkFailure'
  readonly kind: 'unreachable' | 'timeout' | 'refused'

  constructor(kind: NetworkFailure['kind'], what: string) {
    super(`${what}: ${{ unreachable: 'connection lost', timeout: 'no answer in time', refused: 'refused' }[kind]}`)
    this.kind = kind
  }
}

type CallOptions = {
  /** After this much time of the caller, the call rejects with `timeout`. */
  readonly timeoutMs?: number | undefined
  /** The call rejects with the reason of this signal when it aborts; the engine may do what it was asked to do all the same. */
  readonly signal?: AbortSignal | undefined
}

/** What connects the processes with the engines. */
export type Network = {
  /**
   * Brings `work` to an engine, and what it returns or throws back to the calling process. Rejects with `NetworkFailure`. A process that has
   * ended meanwhile never gets an answer.
   */
  call<T>(engine: EngineName, what: string, work: () => T | Promise<T>, options?: CallOptions): Promise<T>
}

/** An engine beside the caller that answers at once, on the clock of this machine. */
export const localHost = (random: () => number = Math.random): Host => ({
  nowMs: Date.now,
  random,
  pause: () => Promise.resolve(),
  after: (delayMs, _what, act) => {
    const timer = setTimeout(act, delayMs).unref()
    return () => clearTimeout(timer)
  },
})

/** Calls that always arrive, and are answered at once. */
export const localNetwork: Network = {
  call: async (_engine, _what, work, { signal } = {}) => {
    signal?.throwIfAborted()
    return await work()
  },
}
