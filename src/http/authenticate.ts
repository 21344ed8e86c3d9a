import { accountKeyPrefix, digestOf } from '../domain/accountKey.ts'
import type { KeyHolder, KeyView } from '../replica/keyView.ts'
import { KeyViewIncomplete } from '../replica/keyView.ts'
import type { ApiMiddleware } from './context.ts'
import { fromRedis, RequestFailure } from './failure.ts'

/** Lets a request pass with an active account key; the route then reads as the key's team. */
export const authenticate =
  (keys: Pick<KeyView, 'lookup'>, nowMs: () => number): ApiMiddleware =>
  async (ctx, next) => {
    const token = bearerToken(ctx.get('Authorization'))
    const holder = token.startsWith(accountKeyPrefix) ? await findHolder(keys, token) : null
    if (holder === null || !isValid(holder, nowMs()))
      throw new RequestFailure({ kind: 'unauthorized', isTokenSent: token !== '' })
    ctx.state.holder = holder
    return next()
  }

/** The token of an Authorization header; empty when it carries none. */
export const bearerToken = (header: string): string => /^Bearer +(?<token>.*)$/i.exec(header)?.groups?.['token'] ?? ''

async function findHolder(keys: Pick<KeyView, 'lookup'>, token: string): Promise<KeyHolder | null> {
  const lookup = await fromRedis(keys.lookup(digestOf(token)))
  if (lookup === 'incomplete') throw new KeyViewIncomplete()
  return lookup.found
}

const isValid = ({ state, expiresAtMs }: KeyHolder, nowMs: number): boolean =>
  state === 'active' && (expiresAtMs === null || nowMs < expiresAtMs)
