import { once } from 'node:events'
import { Readable } from 'node:stream'
import { cutOff } from '../core/http/httpServer.ts'
import type { Served } from '../core/json/scanner.ts'
import { unauthorized } from './authenticate.ts'
import type { ExportParts, RouteContext, StartStream, WatchKey } from './context.ts'
import { answerCodes, type CsvTable, csvTable } from './csv.ts'
import { unavailable } from './errors.ts'
import { FairQueue } from './fairQueue.ts'
import { granted, whenClosed } from './requestsInFlight.ts'
import { readDetail } from './search/details.ts'
import type { ListAt } from './search/indexReader.ts'
import { weighDetail } from './search/largeRows.ts'
import type { RunQuery } from './search/searchClient.ts'

export const ndjson = 'application/x-ndjson'
export const csv = 'text/csv'
export type ExportFormat = typeof ndjson | typeof csv

/** The export that a request asks for; undefined for a page. */
export function exportFormat(ctx: RouteContext): ExportFormat | undefined {
  const accepted = ctx.accepts('application/json', ndjson, csv)
  return accepted === ndjson || accepted === csv ? accepted : undefined
}

/** Concurrent exports of one process, in total and of one team. */
const maxExports = { maxRunning: 32, maxRunningPerTenant: 4 }
/** Concurrent large pages, which take turns. */
const maxPages = { maxRunning: 16, maxRunningPerTenant: 2, maxWaiting: 1_000, maxWaitMs: 5_000 }

export const streamQueues = () => ({ exports: new FairQueue(maxExports), 'large pages': new FairQueue(maxPages) })

/**
 * Limits concurrent streams. One that fails midway, or whose key is revoked then, resets its connection: no client takes a part for the whole.
 * One whose key is revoked before its first part is refused.
 */
export function createStreams(watchKey: WatchKey, queues = streamQueues()): StartStream {
  return async (what, ctx, open) => {
    const { holder, runPart } = ctx.state
    const queue = queues[what]
    const ended = new AbortController()
    const { signal } = ended
    const unwatch = watchKey(ctx, () => ended.abort(unauthorized(true)))
    whenClosed(ctx.res, () => {
      unwatch()
      ended.abort(unavailable('capacity', new Error('the client has disconnected')))
    })
    const acquired =
      what === 'large pages' ? await queue.acquire(holder.teamId, signal) : queue.acquireNow(holder.teamId)
    if (acquired === 'aborted') signal.throwIfAborted()
    const release = granted(acquired, what)
    const stream = Readable.from(open(runPart), { objectMode: false })
    stream.once('close', release)
    await once(stream, 'readable', { signal })
      .finally(() => signal.throwIfAborted())
      .catch((error: unknown) => {
        stream.destroy()
        throw error
      })
    ctx.state.firstPartMs = performance.now()
    const breakOff = (error: Error): void => {
      if (ctx.res.closed) return
      ctx.app.emit('error', error, ctx)
      cutOff(ctx.res)
    }
    // A stream that is destroyed waits for the part that it is reading, the response does not.
    signal.addEventListener('abort', () => {
      breakOff(new Error('its key is no longer accepted'))
      stream.destroy()
    })
    stream.once('error', breakOff)
    // nginx would buffer parts until its buffers are full.
    ctx.set('X-Accel-Buffering', 'no')
    // Node discards the body of an answer to HEAD, and would never read the rest of the stream.
    if (ctx.method === 'HEAD') stream.destroy()
    return stream
  }
}

const lineEnd = Buffer.from('\n')

export async function* ndjsonLines(rows: AsyncIterable<readonly Buffer[]>): ExportParts {
  for await (const part of rows) yield Buffer.concat(part.flatMap((row) => [row, lineEnd]))
}

export const csvContentType = 'text/csv; charset=utf-8; header=present'

/** The table of a list, with the answer codes of the form that is named; none if the team has no such form. */
export async function readCsvTable(forms: ListAt, served: Served, formId: string | undefined, runQuery: RunQuery) {
  if (formId === undefined) return csvTable(served)
  const bytes = await weighDetail(forms, formId, runQuery)
  const form = await runQuery((signal) => readDetail(forms, formId, signal), bytes)
  return csvTable(served, form === undefined ? [] : answerCodes(form))
}

/** Rows as lines of CSV after a header. Nothing is sent before the first rows are there, so that a failure can still be answered. */
export async function* csvLines(readTable: () => Promise<CsvTable>, rows: AsyncIterable<readonly Buffer[]>) {
  const table = await readTable()
  let before = table.header
  for await (const part of rows) {
    yield Buffer.from(before + part.map((row) => table.row(row)).join(''))
    before = ''
  }
  if (before !== '') yield Buffer.from(before)
}
