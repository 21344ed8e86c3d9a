import { accountKeyPrefix } from '../../src/core/model/accountKey.ts'
import { waitUntil } from '../engines/waiting.ts'

const servedDeadlineMs = 60_000
const requestTimeoutMs = 5_000

/**
 * The API answers an unknown key with 503 until the indexer has replayed the existing keys, then with 401. From then on keys can be created. Rejects
 * after a minute.
 */
export async function untilKeysAreComplete(baseUrl: string, signal: AbortSignal): Promise<void> {
  const areComplete = (): Promise<boolean> =>
    isValidKey(baseUrl, `${accountKeyPrefix}unknown`, signal).then(
      () => true,
      () => false,
    )
  if (await waitUntil(areComplete, { deadlineMs: servedDeadlineMs, signal })) return
  throw new Error(`The API at ${baseUrl} does not know the account keys within ${servedDeadlineMs / 1_000} s`)
}

/** Rejects after a minute. */
export async function untilServed(baseUrl: string, key: string, signal: AbortSignal): Promise<void> {
  const isServed = (): Promise<boolean> => isValidKey(baseUrl, key, signal).catch(() => false)
  if (await waitUntil(isServed, { deadlineMs: servedDeadlineMs, signal })) return
  throw new Error(`The API at ${baseUrl} does not answer a new key within ${servedDeadlineMs / 1_000} s`)
}

export async function newestFormId(baseUrl: string, key: string, signal: AbortSignal): Promise<string> {
  const response = await get(`${baseUrl}/forms?limit=1`, key, signal)
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
  const { items } = (await response.json()) as { items: { id: string }[] }
  return items[0]?.id ?? ''
}

/** Whether the API accepts the key, even if it is over its rate limit. Rejects if the API fails. */
export async function isValidKey(baseUrl: string, key: string, signal: AbortSignal): Promise<boolean> {
  const response = await get(`${baseUrl}/forms?limit=1`, key, signal)
  if (response.status >= 500) throw new Error(`${response.status} ${await response.text()}`)
  return response.status !== 401
}

const get = (url: string, key: string, signal: AbortSignal): Promise<Response> =>
  fetch(url, {
    headers: { authorization: `Bearer ${key}` },
    signal: AbortSignal.any([signal, AbortSignal.timeout(requestTimeoutMs)]),
  })
