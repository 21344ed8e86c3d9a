import type { IDataObject } from 'n8n-workflow'
import { type Answer, messageIn } from '../shared/api.ts'
import { parseExactly } from '../shared/exactJson.ts'
import { retryAfterMs } from '../shared/retryAfter.ts'

/** A row of the change feed; one that is `deleted` has no other members. */
export type Row = IDataObject & { readonly id: string; readonly changedAt: string; readonly deleted: boolean }

export type Page = {
  readonly items: readonly Row[]
  readonly cursor: string
  readonly hasMore: boolean
  /** Everything that changed before this time (ISO) was visible when the answer was made. */
  readonly watermark: string | undefined
  /** Whether the API has waited for a row, as it was asked to. */
  readonly hasWaited: boolean
}

/** What an answer of the change feed asks a reader to do. */
export type Read =
  | { readonly kind: 'page'; readonly page: Page }
  /** The cursor is of no use any more: begin anew. */
  | { readonly kind: 'lost'; readonly why: string }
  /** Ask again, after `waitMs` if the answer says it. */
  | { readonly kind: 'later'; readonly why: string; readonly waitMs: number | undefined }
  /** Asking again does not help. */
  | { readonly kind: 'refused'; readonly answer: Answer }

/** Judges an answer; `hasCursor`: a stored cursor was sent. */
export function readAnswer(answer: Answer, hasCursor: boolean, nowMs: number): Read {
  const { status, headers, body } = answer
  if (status === 200) return pageIn(answer)
  if (status === 410) return { kind: 'lost', why: messageIn(body) }
  if (status === 400 && hasCursor && messageIn(body).startsWith('cursor')) return { kind: 'lost', why: messageIn(body) }
  if (status === 408 || status === 429 || status >= 500) {
    const waitMs = retryAfterMs(headers['retry-after'], nowMs)
    return { kind: 'later', why: `Tidemark answers ${status}: ${messageIn(body)}`, waitMs }
  }
  return { kind: 'refused', answer }
}

function pageIn({ headers, body }: Answer): Read {
  try {
    const { items, cursor, hasMore } = parseExactly(body) as { items: Row[]; cursor: string; hasMore: boolean }
    if (Array.isArray(items) && typeof cursor === 'string' && typeof hasMore === 'boolean') {
      const hasWaited = headers['preference-applied'] !== undefined
      return { kind: 'page', page: { items, cursor, hasMore, watermark: headers['replica-watermark'], hasWaited } }
    }
  } catch {
    // Cut off: the same rows come again with the same cursor.
  }
  return { kind: 'later', why: 'the answer of Tidemark is not whole', waitMs: undefined }
}
