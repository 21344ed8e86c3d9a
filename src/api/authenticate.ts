import { LRUCache } from 'lru-cache'
import { accountKeyPrefix, digestOf } from '../core/model/accountKey.ts'
import type { Digest } from '../core/model/ids.ts'
import type { AccountKeyStore, KeyHolder } from '../core/stores/accountKeyStore.ts'
import { AccountKeysIncomplete } from '../core/stores/accountKeyStore.ts'
import type { ApiMiddleware, KeyHolderState } from './context.ts'
import { fromRedis, RequestError } from './requestError.ts'

/** Keys of which a process remembers whose they were. */
const maxKeys = 10_000

/**
 * Lets a request pass with an active account key; the route then reads as the key's team. `ask` asks Redis what else it takes to
 * answer the holder: at once with the key itself where the holder of its last request is remembered, which saves a wait. What the
 * key's own look-up says decides; another holder's answers are thrown away.
 */
export function authenticate(
  keys: Pick<AccountKeyStore, 'lookup'>,
  ask: (holder: KeyHolder) => KeyHolderState,
  nowMs: () => number,
): ApiMiddleware {
  const lastHolders = new LRUCache<Digest, KeyHolder>({ max: maxKeys })
  return async (ctx, next) => {
    if ((ctx.req.headersDistinct['authorization'] ?? []).length > 1)
      throw new RequestError({ kind: 'bad_request', message: 'Authorization must be sent only once' })
    const token = bearerToken(ctx.get('Authorization'))
    if (!token.startsWith(accountKeyPrefix)) throw new RequestError({ kind: 'unauthorized', isTokenSent: token !== '' })
    const digest = digestOf(token)
    const looking = fromRedis(keys.lookup(digest))
    const last = lastHolders.get(digest)
    const asked = last === undefined ? undefined : { holder: last, ...ask(last) }
    const lookup = await looking
    if (lookup === 'incomplete') throw new AccountKeysIncomplete()
    const holder = lookup.found
    if (holder === null || !isValid(holder, nowMs())) {
      lastHolders.delete(digest)
      throw new RequestError({ kind: 'unauthorized', isTokenSent: true })
    }
    lastHolders.set(digest, holder)
    const isAsked = asked?.holder.teamId === holder.teamId && asked.holder.keyId === holder.keyId
    Object.assign(ctx.state, isAsked ? asked : ask(holder), { holder })
    return next()
  }
}

/** The token of an Authorization header; empty when it carries none. */
export const bearerToken = (header: string): string => /^Bearer +(?<token>.*)$/i.exec(header)?.groups?.['token'] ?? ''

const isValid = ({ state, expiresAtMs }: KeyHolder, nowMs: number): boolean =>
  state === 'active' && (expiresAtMs === null || nowMs < expiresAtMs)
