import type { Digest } from '../core/model/ids.ts'
import type { KeyHolder } from '../core/stores/accountKeyStore.ts'
import { isHeldBy, keyDigestOf } from './authenticate.ts'
import type { RouteContext, WatchKey } from './context.ts'

const tickMs = 400

type Watched = { readonly digest: Digest; readonly holder: KeyHolder; onRefused(): void }

/**
 * Looks up the keys of long requests (exports, waits for a change), all in one round trip to Redis, so that a key that is revoked or expires
 * ends them within a second. A key that cannot be looked up stays accepted. `readHolders` answers in the order of its digests; undefined while
 * the store is incomplete.
 */
export function watchKeys(
  readHolders: (digests: readonly Digest[]) => Promise<readonly (KeyHolder | null)[] | undefined>,
  nowMs: () => number,
): WatchKey {
  const watched = new Set<Watched>()
  let [timer, isReading]: [NodeJS.Timeout | undefined, boolean] = [undefined, false]
  const tick = async (): Promise<void> => {
    if (isReading) return
    isReading = true
    const asked = [...watched]
    const digests = [...new Set(asked.map(({ digest }) => digest))]
    const holders = await readHolders(digests).catch(() => undefined)
    isReading = false
    if (holders === undefined) return
    const current = new Map(digests.map((digest, at) => [digest, holders[at] ?? null]))
    for (const { digest, holder, onRefused } of asked)
      if (!isHeldBy(holder, current.get(digest) ?? null, nowMs())) onRefused()
  }
  return (ctx: RouteContext, onRefused) => {
    const each = { digest: keyDigestOf(ctx), holder: ctx.state.holder, onRefused }
    watched.add(each)
    timer ??= setInterval(() => void tick(), tickMs)
    return () => {
      watched.delete(each)
      if (watched.size > 0) return
      clearInterval(timer)
      timer = undefined
    }
  }
}
