import { startLocalServer } from './localServer.ts'
import type { Json } from './randomHistory.ts'

/** What the change feed of records answers: a page, or a status without one. */
export type ChangesAnswer =
  | { readonly items: readonly Json[]; readonly cursor: string; readonly hasMore?: boolean }
  | { readonly status: number; readonly retryAfter?: string }

/** An API whose records change as a test says, and whose forms never do. */
export async function startChangesServer() {
  let answers: ChangesAnswer[] = []
  let cursors: string[] = []
  const server = await startLocalServer(({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://api')
    const send = ({ hasMore = false, ...page }: Json): void => {
      response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ ...page, hasMore }))
    }
    if (!pathname.endsWith('/record-changes')) return send({ items: [], cursor: 'forms' })
    cursors.push(searchParams.get('cursor') ?? 'none')
    const answer = answers.shift() ?? { status: 500 }
    if ('items' in answer) return send(answer)
    if (answer.retryAfter !== undefined) response.setHeader('Retry-After', answer.retryAfter)
    response.writeHead(answer.status, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify({ error: { code: 'code', message: `message of ${answer.status}` } }))
  })
  return {
    ...server,
    /** Sets the answers to the next requests for changes of records, in this order. */
    willAnswer: (next: readonly ChangesAnswer[]): void => {
      answers = [...next]
      cursors = []
    },
    /** The cursors of the requests since then; `none` for a request without a cursor. */
    asked: (): readonly string[] => cursors,
  }
}

/** A row of an item that exists. */
export const existing = (id: string): Json => ({ id, changedAt: '2026-11-28T08:30:00.000Z', deleted: false })
/** A row of an item that was deleted. */
export const deleted = (id: string): Json => ({ ...existing(id), deleted: true })
