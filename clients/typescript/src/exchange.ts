import { ApiConnectionError, TidemarkError } from './errors.ts'

/** One request with its answer: ends when the caller aborts, and when nothing more comes. */
export class Exchange {
  readonly #controller = new AbortController()
  readonly #timeoutMs: number
  readonly #caller: AbortSignal | undefined
  readonly #onAbort = (): void => this.#controller.abort(this.#caller?.reason)

  constructor(timeoutMs: number, caller: AbortSignal | undefined) {
    this.#timeoutMs = timeoutMs
    this.#caller = caller
    caller?.throwIfAborted()
    // AbortSignal.any would keep a signal for each request of a caller that lives for months.
    caller?.addEventListener('abort', this.#onAbort, { once: true })
  }

  /** Aborts when the caller does, when nothing comes in time, and when the exchange has ended. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Awaits the answer or its next bytes, for `extraMs` longer than others. */
  async within<T>(coming: Promise<T>, extraMs = 0): Promise<T> {
    const ms = this.#timeoutMs + extraMs
    const timer = setTimeout(() => {
      this.#controller.abort(new ApiConnectionError(`the API sent nothing for ${ms / 1_000} s`))
    }, ms)
    try {
      return await coming
    } finally {
      clearTimeout(timer)
    }
  }

  /** Closes the connection unless all was read. */
  end(): void {
    this.#caller?.removeEventListener('abort', this.#onAbort)
    this.#controller.abort()
  }

  /** What to throw for an error of the exchange. */
  explain(error: unknown, path: string): unknown {
    if (this.#caller?.aborted) return this.#caller.reason
    if (error instanceof TidemarkError) return error
    return new ApiConnectionError(`no whole answer to GET ${path}: ${error}`, { cause: error })
  }
}
