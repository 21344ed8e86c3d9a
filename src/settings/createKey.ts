import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseInstant } from '../core/model/instant.ts'
import { AccountKeysIncomplete } from '../core/stores/accountKeyStore.ts'
import { fromRedis } from '../core/stores/redis.ts'
import type { AccountKeyManager } from './accountKeyManager.ts'
import { settingsError } from './errors.ts'
import { type CreatedKey, KeyChangeIncomplete, KeyRefused } from './keyRules.ts'
import type { CreateProblem } from './pages/keysPage.ts'
import type { OpenSession } from './sessions.ts'

/** The fields of the form that creates a key. `once` is the idempotency token of one rendered form. */
type CreateKeyForm = { readonly name: string; readonly expires: string; readonly once: string }

/** A created key with its plaintext, or why there is none. */
type CreateKeyResult = CreatedKey | CreateProblem | 'full'

const oncePattern = /^[A-Za-z0-9_-]{16,64}$/
/** Shorter than browsers wait for an answer, longer than Kafka takes to elect a partition leader. */
const changeDeadlineMs = 15_000

export function readCreateKeyForm(form: URLSearchParams): CreateKeyForm {
  const once = form.get('once') ?? ''
  if (!oncePattern.test(once)) throw settingsError('foreign-form')
  return { name: (form.get('name') ?? '').trim(), expires: (form.get('expires') ?? '').trim(), once }
}

/** Creates the key that a form describes. Sending the same form again gives the same key, never a second one. */
export async function createKey(
  keys: AccountKeyManager,
  session: OpenSession,
  { name, expires, once }: CreateKeyForm,
): Promise<CreateKeyResult> {
  const endOfDay = expires === '' ? undefined : parseInstant(`${expires}T23:59:59.999Z`)
  if (expires !== '' && endOfDay === undefined) return 'expires'
  const request = { team: session.team, name, by: session.sub, expires: endOfDay, seed: keySeed(session, once) }
  try {
    return await fromKeys(withDeadline(keys.create(request)))
  } catch (error) {
    return problemOf(error)
  }
}

function problemOf(error: unknown): CreateProblem | 'full' {
  if (error instanceof KeyChangeIncomplete) return 'unfinished'
  if (!(error instanceof KeyRefused) || error.reason === 'team' || error.reason === 'unknown-key') throw error
  return error.reason
}

/**
 * The secret bytes that a key is derived from: the same for the same form of the same session. Redis has no session id and the
 * browser has no session secret, so that neither can compute the seed alone.
 */
const keySeed = ({ id, secret }: OpenSession, once: string): Uint8Array =>
  createHmac('sha256', Buffer.from(id + secret))
    .update(once)
    .digest()

/** Awaits `AccountKeyManager`. Any error but its own is an outage of Redis. */
export const fromKeys = <T>(answer: Promise<T>): Promise<T> =>
  fromRedis(answer, KeyRefused, KeyChangeIncomplete, AccountKeysIncomplete)

/**
 * Waits for a change of a key, and rejects with `KeyChangeIncomplete` after fifteen seconds. The change goes on in the
 * background; requesting it again completes it.
 */
export const withDeadline = <T>(change: Promise<T>): Promise<T> =>
  Promise.race([
    change,
    sleep(changeDeadlineMs, undefined, { ref: false }).then(() => {
      throw new KeyChangeIncomplete(`not done within ${changeDeadlineMs} ms`)
    }),
  ])
