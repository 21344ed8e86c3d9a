import { pause } from '../../engines/waiting.ts'

/** Who reads the list of a team. */
export type ListReader = { readonly origin: string; readonly accountKey: string; readonly teamId: string }

/** What a list answers: nothing new, or its newest rows. */
export type ListAnswer = { readonly etag: string | undefined; readonly ids: readonly string[] | undefined }

export const pollMs = 10
/** More than can come for one team while an event is waited for. */
const limit = 20
const askDeadlineMs = 10_000
export const seenDeadlineMs = 10_000

/** Asks for the newest submissions of the team; with an ETag, whether there is anything else than it stands for. */
export async function askList(
  { origin, accountKey }: ListReader,
  etag: string | undefined,
  signal: AbortSignal,
): Promise<ListAnswer> {
  const headers = { authorization: `Bearer ${accountKey}`, ...(etag !== undefined && { 'if-none-match': etag }) }
  const within = AbortSignal.any([signal, AbortSignal.timeout(askDeadlineMs)])
  const answer = await fetch(`${origin}/api/v1/records?limit=${limit}`, { headers, signal: within })
  if (answer.status === 304) {
    await answer.arrayBuffer()
    return { etag, ids: undefined }
  }
  if (answer.status !== 200) throw new Error(`a list is answered ${answer.status}: ${await answer.text()}`)
  const { items } = (await answer.json()) as { items: { id: string }[] }
  return { etag: answer.headers.get('etag') ?? undefined, ids: items.map(({ id }) => id) }
}

/** Asks again and again until the list shows the submission, and answers how long that took after it was acknowledged. */
export async function untilListed(
  reader: ListReader,
  etag: string | undefined,
  id: string,
  acknowledgedMs: number,
  signal: AbortSignal,
): Promise<{ readonly delayMs: number; readonly polls: number; readonly isSeen: boolean }> {
  let known = etag
  for (let polls = 1; ; polls++) {
    const answer = await askList(reader, known, signal)
    const delayMs = performance.now() - acknowledgedMs
    if (answer.ids?.includes(id)) return { delayMs, polls, isSeen: true }
    if (delayMs > seenDeadlineMs) return { delayMs, polls, isSeen: false }
    known = answer.etag
    await pause(pollMs, signal)
  }
}
