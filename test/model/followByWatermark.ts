import { setTimeout as sleep } from 'node:timers/promises'
import { type Handlers, NotNow, type Source } from '../../docs/client/followChanges.ts'

const pauseMs = 5_000
/** Before every change. The first answer lists deletions, too: an item may be deleted after one that broke off has told of it. */
const beginning = '1970-01-01T00:00:00.000Z'

/**
 * Hands over every item that changed since `watermark` and the id of every item that was deleted since, or every item when there is
 * no watermark, and resolves with the watermark to read on from. It rejects when the answer breaks off: read from the same
 * watermark again. An item may come more than once; the later one is as new or newer. What was deleted never comes back.
 */
async function readChanges(
  { baseUrl, accountKey, list }: Source,
  watermark: string | undefined,
  { onItem, onDeleted }: Pick<Handlers, 'onItem' | 'onDeleted'>,
  signal: AbortSignal,
): Promise<string> {
  const query = new URLSearchParams({ changedSince: watermark ?? beginning, includeDeleted: 'true' })
  const headers = { authorization: `Bearer ${accountKey}`, accept: 'application/x-ndjson' }
  const answer = await passing(fetch(`${baseUrl}/${list}?${query}`, { headers, signal }))
  const next = answer.headers.get('replica-watermark')
  if (answer.status !== 200 || next === null || answer.body === null) {
    const text = await passing(answer.text())
    const seconds = Number(answer.headers.get('retry-after') ?? pauseMs / 1_000)
    if (answer.status === 429 || answer.status >= 500 || answer.ok) throw new NotNow(text, seconds * 1_000)
    throw new Error(`${answer.status} ${text}`)
  }
  let rest = ''
  for await (const text of textsOf(answer.body)) {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const item = JSON.parse(line) as { readonly id: string; readonly changedAt: string; readonly deleted?: true }
      await (item.deleted ? onDeleted(item.id) : onItem(item))
    }
  }
  return next
}

async function* textsOf(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string, void, undefined> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  try {
    for (;;) {
      const { done, value } = await passing(reader.read())
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

/** What goes wrong on the way to the API and back passes; what a handler does with an item may not. */
const passing = <T>(answer: Promise<T>): Promise<T> =>
  answer.catch((error: unknown) => {
    throw new NotNow(`no answer: ${error}`, pauseMs)
  })

/**
 * Follows a list until `signal` aborts. Whatever passes (a network that is away, a used-up minute, a restart) is waited out;
 * rejects with what does not, such as a revoked key. `keep` is called when everything before a watermark was handed over: who
 * stores it together with the items can end at any moment and go on from there.
 */
export async function followByWatermark(
  source: Source,
  watermark: string | undefined,
  {
    keep,
    pollMs = pauseMs,
    signal,
    ...handlers
  }: Pick<Handlers, 'onItem' | 'onDeleted'> & {
    readonly keep: (watermark: string) => unknown
    readonly pollMs?: number
    readonly signal: AbortSignal
  },
): Promise<void> {
  let since = watermark
  while (!signal.aborted) {
    let waitMs = pollMs
    try {
      since = await readChanges(source, since, handlers, signal)
      await keep(since)
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof NotNow)) throw error
      waitMs = error.retryAfterMs
    }
    await sleep(waitMs, undefined, { signal }).catch(() => undefined)
  }
}
