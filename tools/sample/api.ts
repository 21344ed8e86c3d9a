import { pause } from '../engines/waiting.ts'
import type { Counts } from './world.ts'

type TeamAccess = { readonly teamId: string; readonly key: string }

const servedDeadlineMs = 60_000
const requestTimeoutMs = 5_000
/** Each poll makes two requests of the 120 that a key may make in a minute. */
const pollMs = 2_000

type List = { readonly totalDocs: number; readonly items: readonly { readonly id: string }[] }

/**
 * Returns once the API serves the team at least the `expected` counts. Rejects after a minute with its last answer, or with
 * the signal's reason.
 */
export async function untilServed(
  baseUrl: string,
  { teamId, key }: TeamAccess,
  expected: Counts,
  signal: AbortSignal,
): Promise<void> {
  const wanted = `${expected.forms} forms and ${expected.submissions} submissions`
  const end = performance.now() + servedDeadlineMs
  for (;;) {
    const served = await totals(baseUrl, key, signal).catch((error: Error) => error.message)
    signal.throwIfAborted()
    if (typeof served === 'object' && served.forms >= expected.forms && served.submissions >= expected.submissions)
      return
    if (performance.now() > end) {
      const last = typeof served === 'string' ? served : `${served.forms} forms and ${served.submissions} submissions`
      throw new Error(`The API does not serve the ${wanted} of ${teamId}; its last answer: ${last}`)
    }
    await pause(pollMs, signal)
  }
}

async function totals(baseUrl: string, key: string, signal: AbortSignal): Promise<Counts> {
  const forms = await list(`${baseUrl}/forms?limit=1`, key, signal)
  const submissions = await list(`${baseUrl}/records?limit=1`, key, signal)
  return { forms: forms.totalDocs, submissions: submissions.totalDocs }
}

/** The id of the team's newest form. */
export async function newestFormId(baseUrl: string, key: string, signal: AbortSignal): Promise<string> {
  const { items } = await list(`${baseUrl}/forms?limit=1`, key, signal)
  return items[0]?.id ?? ''
}

/** Whether the API accepts the key; a key over its rate limit is valid too. Rejects when the API fails. */
export async function isValidKey(baseUrl: string, key: string, signal: AbortSignal): Promise<boolean> {
  const response = await get(`${baseUrl}/forms?limit=1`, key, signal)
  if (response.status >= 500) throw new Error(`${response.status} ${await response.text()}`)
  return response.status !== 401
}

async function list(url: string, key: string, signal: AbortSignal): Promise<List> {
  const response = await get(url, key, signal)
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
  return (await response.json()) as List
}

const get = (url: string, key: string, signal: AbortSignal): Promise<Response> =>
  fetch(url, {
    headers: { authorization: `Bearer ${key}` },
    signal: AbortSignal.any([signal, AbortSignal.timeout(requestTimeoutMs)]),
  })
