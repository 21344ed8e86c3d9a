import { LRUCache } from 'lru-cache'
import type { KeyHolder } from '../core/stores/accountKeyStore.ts'
import { minuteOf } from '../core/stores/keyLastUse.ts'
import type { RouteMiddleware } from './context.ts'

/** Keys whose last minute a process remembers. */
const maxKeys = 10_000

/** Has every key's use written down once a minute at most; no request waits for it, or fails when it cannot be. */
export function lastUse(
  note: (holder: KeyHolder, nowMs: number) => Promise<void>,
  nowMs: () => number,
): RouteMiddleware {
  const noted = new LRUCache<string, number>({ max: maxKeys })
  return (ctx, next) => {
    const { holder } = ctx.state
    const name = `${holder.teamId}/${holder.keyId}`
    const minute = minuteOf(nowMs())
    if (noted.get(name) !== minute) {
      noted.set(name, minute)
      note(holder, minute).catch(() => undefined)
    }
    return next()
  }
}
