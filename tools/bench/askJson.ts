import type { HttpRequest } from './load/job.ts'

const deadlineMs = 60_000

/** The answer to one request, parsed. Rejects when it has another status than expected, or does not come within a minute. */
export async function askJson(origin: string, request: HttpRequest, signal: AbortSignal): Promise<unknown> {
  const { method, path, headers, body = null, expectedStatus } = request
  const within = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)])
  const answer = await fetch(origin + path, { method, headers, body, signal: within })
  if (answer.status !== expectedStatus)
    throw new Error(`${method} ${path} answers ${answer.status}: ${await answer.text()}`)
  return await answer.json()
}
