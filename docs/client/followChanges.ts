import { setTimeout as sleep } from 'node:timers/promises'

/** Which list of a team is followed. */
export type Source = {
  /** Where the API is, such as `https://quiz.example/api/v1`. */
  readonly baseUrl: string
  readonly accountKey: string
  readonly list: 'forms' | 'records'
  /** Rows of a page, at most 1,000. */
  readonly limit?: number
}

type Item = { readonly id: string; readonly changedAt: string }

/** What is done with changes. An error that a handler throws ends the following. */
export type Handlers = {
  readonly onItem: (item: Item) => unknown
  /** Also called for items that never came, because they were created and deleted between two answers. */
  readonly onDeleted: (id: string) => unknown
  /** The cursor is too old: every item comes again, and those that do not come until the next `isWhole` are gone. */
  readonly onExpired: () => unknown
}

/** How far an answer has led. */
export type Progress = {
  /** Store it together with the items: the next read begins there. */
  readonly cursor: string
  /** Whether the copy has every change that was visible when the first of the last answers was asked for. */
  readonly isWhole: boolean
  /** Everything that changed before this instant was visible then; null while that is not known. */
  readonly watermark: string | null
}

/** The API cannot answer just now, for a reason that passes. */
export class NotNow extends Error {
  readonly retryAfterMs: number

  constructor(message: string, retryAfterMs: number) {
    super(message)
    this.retryAfterMs = retryAfterMs
  }
}

/** The cursor is too old, or its log was replaced. */
export class CursorExpired extends Error {}

const pauseMs = 5_000
const paths = { forms: 'form-changes', records: 'record-changes' }

/** Reads one page of changes since `cursor`, or from the beginning, and hands it over. */
export async function readChanges(
  { baseUrl, accountKey, list, limit = 1_000 }: Source,
  cursor: string | undefined,
  { onItem, onDeleted }: Pick<Handlers, 'onItem' | 'onDeleted'>,
  signal: AbortSignal,
): Promise<Progress> {
  const query = new URLSearchParams({ limit: String(limit), ...(cursor !== undefined && { cursor }) })
  const headers = { authorization: `Bearer ${accountKey}` }
  const answer = await passing(fetch(`${baseUrl}/${paths[list]}?${query}`, { headers, signal }))
  const text = await passing(answer.text())
  if (answer.status === 429 || answer.status >= 500) throw new NotNow(text, retryAfterMs(answer))
  if (answer.status === 410) throw new CursorExpired(text)
  if (answer.status !== 200) throw new Error(`${answer.status} ${text}`)
  const page = JSON.parse(text) as {
    readonly items: readonly (Item & { readonly deleted: boolean })[]
    readonly cursor: string
    readonly hasMore: boolean
  }
  for (const item of page.items) await (item.deleted ? onDeleted(item.id) : onItem(item))
  return { cursor: page.cursor, isWhole: !page.hasMore, watermark: answer.headers.get('replica-watermark') }
}

/** `Retry-After` is a number of seconds, or a date. */
function retryAfterMs(answer: Response): number {
  const value = answer.headers.get('retry-after') ?? ''
  const waitMs = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now()
  return waitMs > 0 ? waitMs : pauseMs
}

/** What goes wrong on the way to the API and back passes. */
const passing = <T>(answer: Promise<T>): Promise<T> =>
  answer.catch((error: unknown) => {
    throw new NotNow(`no answer: ${error}`, pauseMs)
  })

/**
 * Follows a list from `cursor`, or from the beginning, until `signal` aborts. Waits out whatever passes: a network that is away, a used-up
 * minute, a restart. Rejects with what does not, such as a revoked key. `keep` is called after each answer: a program that stores the cursor
 * together with the items can end at any moment and go on from there. An item may come more than once; the later one is as new or newer.
 */
export async function followChanges(
  source: Source,
  cursor: string | undefined,
  {
    keep,
    pollMs = pauseMs,
    signal,
    ...handlers
  }: Handlers & {
    readonly keep: (progress: Progress) => unknown
    readonly pollMs?: number
    readonly signal: AbortSignal
  },
): Promise<void> {
  let from = cursor
  while (!signal.aborted) {
    let waitMs = pollMs
    try {
      const progress = await readChanges(source, from, handlers, signal)
      from = progress.cursor
      await keep(progress)
      if (!progress.isWhole) continue
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof CursorExpired) {
        await handlers.onExpired()
        from = undefined
        continue
      }
      if (!(error instanceof NotNow)) throw error
      waitMs = error.retryAfterMs
    }
    await sleep(waitMs, undefined, { signal }).catch(() => undefined)
  }
}
