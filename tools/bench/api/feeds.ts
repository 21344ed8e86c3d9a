import { request as send } from 'undici'
import { type Comparison, type Contender, sideBySide } from '../comparison.ts'
import { apiRequest, ask } from '../http.ts'
import { cpuUsBetween, type HttpRequest } from '../load.ts'
import type { Figures } from '../report.ts'
import type { Stage } from '../stage.ts'
import { crowded } from './comparisons.ts'
import { type Lists, listRequest, unchangedRequest } from './lists.ts'

const rowsOfPage = 1_000

/** Polls of a change feed without changes, beside 304 for a page of the same list. */
export async function compareIdlePolls(lists: Lists, stage: Stage): Promise<Comparison> {
  const { json } = await ask(lists.apiOrigin, feedRequest(lists, { cursor: 'latest' }), stage)
  const poll = feedRequest(lists, { cursor: (json as { cursor: string }).cursor })
  const unchanged = await unchangedRequest(lists.apiOrigin, listRequest(lists, 20), stage)
  const origin = lists.apiOrigin
  return sideBySide(
    'A poll of the change feed without news beside 304',
    crowded,
    [
      { label: '304', origin, requestsOf: () => [unchanged] },
      {
        label: 'change feed',
        origin,
        requestsOf: () => [poll],
        to: { label: '304', of: '304', goal: { atLeast: 0.8 } },
      },
    ],
    stage,
  )
}

/** Reads `rows` submissions from the start of the change feed, page after page. */
export const readingFeed = (
  name: string,
  lists: Lists,
  view: 'summary' | 'full',
  rows: number,
  stage: Stage,
): Contender<Figures> => ({
  name,
  run: async () => {
    const origin = lists.apiOrigin
    const [before, beganMs] = [stage.cpuMsOf(origin), performance.now()]
    let read = 0
    for (let cursor: string | undefined; ; ) {
      const request = feedRequest(lists, { limit: rowsOfPage, view, ...(cursor !== undefined && { cursor }) })
      const page = await readPage(origin, request, stage.signal)
      read += page.rows
      cursor = page.cursor
      if (!page.hasMore) break
    }
    if (read !== rows) throw new Error(`the change feed has ${read} rows instead of ${rows}`)
    const elapsedMs = performance.now() - beganMs
    return { perSecond: (1_000 * read) / elapsedMs, count: read, ...cpuUsBetween(before, stage.cpuMsOf(origin), read) }
  },
})

const feedRequest = ({ accountKey }: Pick<Lists, 'accountKey'>, query: Readonly<Record<string, string | number>>) =>
  apiRequest(accountKey, 'record-changes', query)

/** Counts the rows of a page without parsing them, like the lines of an export. */
async function readPage(origin: string, { path, headers, method }: HttpRequest, signal: AbortSignal) {
  const { statusCode, body } = await send(origin + path, { method, headers, signal })
  const text = await body.text()
  if (statusCode !== 200) throw new Error(`${path} answers ${statusCode}: ${text}`)
  const end = JSON.parse(`{${text.slice(text.lastIndexOf('"cursor":'))}`) as { cursor: string; hasMore: boolean }
  return { ...end, rows: text.split('"deleted":false,').length - 1 }
}
