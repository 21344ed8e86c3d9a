import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { TeamId } from '../core/model/ids.ts'
import { identifier } from '../core/model/schema.ts'
import type { RedisConnection } from '../core/stores/redis.ts'
import type { RedisKeys } from '../core/stores/redisKeys.ts'
import { whileAvailable } from './requestError.ts'

/** Whom the product has sent, and for which team. */
export type Owner = { readonly team: TeamId; readonly sub: string }

/** Fifteen minutes of an owner. `csrf` is in every form; `secret` never leaves the server. */
export type Session = Owner & { readonly csrf: string; readonly secret: string; readonly expiresAtMs: number }

/** A session together with the id that the browser keeps. */
export type OpenSession = Session & { readonly id: string }

export type Sessions = {
  open(owner: Owner): Promise<OpenSession>
  /** Null for an id that was never given out, and for a session that is over. */
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

/** Sessions in Redis, each under the digest of its id: who reads Redis can pass for nobody. */
export function createSessions(
  { client }: RedisConnection,
  keys: RedisKeys,
  nowMs: () => number,
  randomBytes: (count: number) => Uint8Array,
): Sessions {
  const random = (): string => Buffer.from(randomBytes(randomLength)).toString('base64url')
  const keyOf = (id: string): string => keys.session(digestOf(id))
  return {
    open: async (owner) => {
      const session: Session = { ...owner, csrf: random(), secret: random(), expiresAtMs: nowMs() + sessionLifeMs }
      const id = random()
      await whileAvailable(client.set(keyOf(id), JSON.stringify(session), 'PX', sessionLifeMs))
      return { ...session, id }
    },
    find: async (id) => {
      const text = await whileAvailable(client.get(keyOf(id)))
      if (text === null) return null
      const session = storedSession.parse(JSON.parse(text))
      return nowMs() < session.expiresAtMs ? { ...session, id } : null
    },
    end: async (id) => {
      await whileAvailable(client.del(keyOf(id)))
    },
  }
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')
