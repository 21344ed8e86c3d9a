import type { ServerResponse } from 'node:http'
import { startLocalServer } from '../../support/localServer.ts'
import type { Json } from '../../support/randomHistory.ts'

/** An answer of the change feed: a page, or what goes wrong instead. */
export type Scripted =
  | {
      readonly items: readonly Json[]
      readonly cursor: string
      readonly hasMore?: boolean
      readonly watermark?: string
    }
  | { readonly status: number; readonly message?: string; readonly retryAfter?: string }
  /** The body ends within a row: the connection is closed, or the answer ends in order. */
  | { readonly cut: 'closed' | 'ended' }

export type Asked = {
  readonly cursor: string
  readonly prefer: string | undefined
  readonly query: string
  readonly atMs: number
}

/**
 * A change feed of submissions that answers as a test says, and then lets requests wait. `latest` answers with the cursor `now` unless the script has
 * something for it.
 */
export async function startScriptedFeed() {
  let script: Scripted[] = []
  let latest: Scripted = { items: [], cursor: 'now', watermark: '2026-11-28T08:00:00.000Z' }
  let asked: Asked[] = []
  const held: ServerResponse[] = []
  /** Requests without an answer whose clients are there. One may have gone before its request is read. */
  const waiting = (): ServerResponse[] =>
    held.filter(({ writableEnded, socket }) => !writableEnded && socket?.destroyed === false)
  const answerWith = (response: ServerResponse, answer: Scripted): void => {
    response.setHeader('Content-Type', 'application/json')
    response.setHeader('Preference-Applied', 'wait=30')
    if ('cut' in answer) cutOff(response, answer.cut)
    else if ('status' in answer) {
      const { status, message = `message of ${status}`, retryAfter } = answer
      if (retryAfter !== undefined) response.setHeader('Retry-After', retryAfter)
      response.writeHead(status)
      response.end(JSON.stringify({ error: { code: 'code', message } }))
    } else {
      const { watermark, hasMore = false, ...page } = answer
      if (watermark !== undefined) response.setHeader('Replica-Watermark', watermark)
      response.end(JSON.stringify({ ...page, hasMore }))
    }
  }
  const server = await startLocalServer(({ url = '', headers }, response) => {
    const { searchParams, search } = new URL(url, 'http://api')
    const cursor = searchParams.get('cursor') ?? 'none'
    if (cursor === 'latest') return answerWith(response, latest)
    asked.push({ cursor, prefer: headers['prefer']?.toString(), query: search, atMs: Date.now() })
    const next = script.shift()
    if (next !== undefined) return answerWith(response, next)
    held.push(response)
  })
  return {
    ...server,
    /** Answers the next requests so, beginning with one that waits. */
    willAnswer: (...answers: readonly Scripted[]): void => {
      asked = []
      script = [...answers]
      const [first] = waiting()
      const next = first && script.shift()
      if (first && next) answerWith(first, next)
    },
    /** Answers `cursor=latest` so, until it is called again. */
    latestIs: (answer: Scripted): void => {
      latest = answer
    },
    /** Requests since `willAnswer`, without those for `latest`. */
    asked: (): readonly Asked[] => asked,
    cursors: (): readonly string[] => asked.map(({ cursor }) => cursor),
    /** How many requests wait for a change. */
    waiting: (): number => waiting().length,
  }
}

function cutOff(response: ServerResponse, how: 'closed' | 'ended'): void {
  const piece = '{"items":[{"id":"cut","changedAt":"2026-11-28T08:30:00.000Z","dele'
  if (how === 'ended') {
    response.end(piece)
    return
  }
  response.setHeader('Content-Length', '1000')
  response.write(piece, () => response.destroy())
}
