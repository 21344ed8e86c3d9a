import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { TeamId } from '../core/model/ids.ts'
import { identifier } from '../core/model/schema.ts'
import type { RedisConnection } from '../core/stores/redis.ts'
import type { RedisKeys } from '../core/stores/redisKeys.ts'
import { whileAvailable } from './requestError.ts'

/** A person whom the product has signed in, and the team. */
export type Owner = { readonly team: TeamId; readonly sub: string }

/** `csrf` is in every form; `secret` never leaves the server. */
export type Session = Owner & { readonly csrf: string; readonly secret: string; readonly expiresAtMs: number }

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
