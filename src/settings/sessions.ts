import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { TeamId } from '../core/model/ids.ts'
import { identifier } from '../core/model/schema.ts'
import { fromRedis, type RedisConnection } from '../core/stores/redis.ts'

/** A person whom the product has signed in, and the team. */
export type Owner = { readonly team: TeamId; readonly sub: string }

/** `csrf` is in every form; `secret` never leaves the server. */
type Session = Owner & { readonly csrf: string; readonly secret: string; readonly expiresAtMs: number }

/** A session with its id, which only the browser keeps. */
export type OpenSession = Session & { readonly id: string }

export type Sessions = {
  open(owner: Owner): Promise<OpenSession>
  /** Null for an unknown id, and for a session that has expired or was ended. */
  find(id: string): Promise<OpenSession | null>
  end(id: string): Promise<void>
}

export const sessionLifeMs = 15 * 60_000
const randomLength = 32

const storedSession = z.object({
  team: identifier.transform((text) => text as TeamId),
  sub: z.string(),
  csrf: z.string(),
  secret: z.string(),
  expiresAtMs: z.number(),
})

/** Keeps sessions in Redis under the digest of their id: whoever reads Redis cannot take a session over. */
export function createSessions(
  { client, keys }: RedisConnection,
  nowMs: () => number,
  randomBytes: (count: number) => Uint8Array,
): Sessions {
  const random = (): string => Buffer.from(randomBytes(randomLength)).toString('base64url')
  const keyOf = (id: string): string => keys.session(digestOf(id))
  return {
    open: async (owner) => {
      const session: Session = { ...owner, csrf: random(), secret: random(), expiresAtMs: nowMs() + sessionLifeMs }
      const id = random()
      await fromRedis(client.set(keyOf(id), JSON.stringify(session), 'PX', sessionLifeMs))
      return { ...session, id }
    },
    find: async (id) => {
      const text = await fromRedis(client.get(keyOf(id)))
      if (text === null) return null
      const session = storedSession.parse(JSON.parse(text))
      return nowMs() < session.expiresAtMs ? { ...session, id } : null
    },
    end: async (id) => {
      await fromRedis(client.del(keyOf(id)))
    },
  }
}

/** Marks a sign-in token as used; false when it was used before. `usableUntilMs` is when the token has expired for good. */
export type ConsumeToken = (tokenId: string, usableUntilMs: number) => Promise<boolean>

/** Keeps used tokens in Redis until they have expired, so that each signs in once. */
export const usedTokens =
  ({ client, keys }: RedisConnection, nowMs: () => number): ConsumeToken =>
  async (tokenId, usableUntilMs) => {
    const leftMs = Math.max(1, Math.ceil(usableUntilMs - nowMs()))
    return (await fromRedis(client.set(keys.usedSignIn(digestOf(tokenId)), '1', 'PX', leftMs, 'NX'))) === 'OK'
  }

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')
