import type { Digest } from '../core/model/ids.ts'
import type { KeyHolder } from '../core/stores/accountKeyStore.ts'
import { isHeldBy } from './authenticate.ts'

/** While a long request runs, its key is looked up so often. */
const tickMs = 400

type KeyWatchDeps = {
  /** The holders of keys, in their order; undefined while they cannot be told. */
  readHolders(digests: readonly Digest[]): Promise<readonly (KeyHolder | null)[] | undefined>
  readonly nowMs: () => number
  /** Calls `tick` every so many milliseconds until the returned function is called. */
  repeat(tick: () => void, everyMs: number): () => void
}

/** A request that takes long: the key that it carries, and whose that was when it was accepted. */
type Watched = { readonly digest: Digest; readonly holder: KeyHolder; onRefused(): void }

/**
 * Looks up the keys of requests that take long (exports, and requests that wait for a change), all in one round trip to Redis, so that
 * one that is revoked or expires ends them within a second. It asks only while there are any. A key that cannot be looked up goes on counting as what it was.
 */
export class KeyWatch {
  readonly #deps: KeyWatchDeps
  readonly #watched = new Set<Watched>()
  #stopTicking: (() => void) | undefined
  #isReading = false

  constructor(deps: KeyWatchDeps) {
    this.#deps = deps
  }

  /** Calls `onRefused` once the key is no longer accepted; the returned function ends that. */
  watch(digest: Digest, holder: KeyHolder, onRefused: () => void): () => void {
    const watched = { digest, holder, onRefused }
    this.#watched.add(watched)
    this.#stopTicking ??= this.#deps.repeat(() => void this.#tick(), tickMs)
    return () => {
      this.#watched.delete(watched)
      if (this.#watched.size > 0) return
      this.#stopTicking?.()
      this.#stopTicking = undefined
    }
  }

  async #tick(): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    const watched = [...this.#watched]
    const digests = [...new Set(watched.map(({ digest }) => digest))]
    const holders = await this.#deps.readHolders(digests).catch(() => undefined)
    this.#isReading = false
    if (holders === undefined) return
    const current = new Map(digests.map((digest, at) => [digest, holders[at] ?? null]))
    for (const { digest, holder, onRefused } of watched)
      if (!isHeldBy(holder, current.get(digest) ?? null, this.#deps.nowMs())) onRefused()
  }
}
