import { createHmac } from 'node:crypto'
import type { OpenSession } from './sessions.ts'

const pattern = /^[A-Za-z0-9_-]{16,64}$/

/** Names one filling-in of the form. */
export const isOnceToken = (text: string): boolean => pattern.test(text)

/**
 * What a key is made from: the same for the same form of the same session, so that a form that is sent twice makes one key.
 * Neither Redis, which has no session id, nor the browser, which has no secret, can tell it alone.
 */
export const keySeed = ({ id, secret }: OpenSession, once: string): Uint8Array =>
  createHmac('sha256', Buffer.from(id + secret))
    .update(once)
    .digest()
