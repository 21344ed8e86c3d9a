import { once } from 'node:events'
import { Readable } from 'node:stream'
import { cutOff } from '../core/http/httpServer.ts'
import type { Served } from '../core/json/scanner.ts'
import { unauthorized } from './authenticate.ts'
import type { ExportParts, RouteContext, StartStream, WatchKey } from './context.ts'
import { answerCodes, type CsvTable, csvTable } from './csv.ts'
import { unavailable } from './errors.ts'
import { FairQueue } from './fairQueue.ts'
import { releaseOrThrow, whenClosed } from './requestsInFlight.ts'
import { readDetail } from './search/details.ts'
import type { VersionedList } from './search/indexReader.ts'
import { weighDetail } from './search/largeRows.ts'
import type { RunQuery } from './search/queryTurns.ts'

export const ndjson = 'application/x-ndjson'
export const csv = 'text/csv'
export type ExportFormat = typeof ndjson | typeof csv

/** Undefined if the client prefers JSON, or accepts none of the three. */
export function exportFormat(ctx: RouteContext): ExportFormat | undefined {
  const accepted = ctx.accepts('application/json', ndjson, csv)
  return accepted === ndjson || accepted === csv ? accepted : undefined
}

/** A further export is refused at once. */
const maxExports = { maxRunning: 32, maxRunningPerTeam: 4 }
/** Pages that are too large to be made in memory. A further page waits. */
const maxPages = { maxRunning: 16, maxRunningPerTeam: 2, maxWaiting: 1_000, maxWaitMs: 5_000 }

export const streamQueues = () => ({ exports: new FairQueue(maxExports), 'large pages': new FairQueue(maxPages) })

/**
 * Until the first part is ready, a failure or revoked key is answered with an error status. Later, either resets the connection, so that no client
 * mistakes a part of the answer for the whole.
 */
export function createStreams(watchKey: WatchKey, queues = streamQueues()): StartStream {
  return async (queueName, ctx, parts) => {
    const { teamId } = ctx.state.accountKey
    const queue = queues[queueName]
    const streamAbort = new AbortController()
    const { signal } = streamAbort
    const unwatch = watchKey(ctx, () => streamAbort.abort(unauthorized(true)))
    whenClosed(ctx.res, () => {
      unwatch()
      streamAbort.abort(unavailable('capacity', new Error('the client has disconnected')))
    })
    const permit = queueName === 'large pages' ? await queue.acquire(teamId, signal) : queue.acquireNow(teamId)
    if (permit.kind === 'aborted') signal.throwIfAborted()
    const release = releaseOrThrow(permit, queueName)
    const stream = Readable.from(parts, { objectMode: false })
    stream.once('close', release)
    // `throwIfAborted` replaces the `AbortError` of `once` by the reason of the abort.
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
    // The response is cut off first: a destroyed stream ends only after the part that it is reading.
    signal.addEventListener('abort', () => {
      breakOff(new Error('its key is no longer accepted'))
      stream.destroy()
    })
    stream.once('error', breakOff)
    // Without this header, nginx would delay parts until its buffers are full.
    ctx.set('X-Accel-Buffering', 'no')
    // Node never reads the body of an answer to HEAD, so the stream would never end.
    if (ctx.method === 'HEAD') stream.destroy()
    return stream
  }
}

const lineEnd = Buffer.from('\n')

export async function* ndjsonLines(rows: AsyncIterable<readonly Buffer[]>): ExportParts {
  for await (const part of rows) yield Buffer.concat(part.flatMap((row) => [row, lineEnd]))
}

export const csvContentType = 'text/csv; charset=utf-8; header=present'

/** With `formId`, each field of this form has a column for its answers, if the team has the form. */
export async function readCsvTable(
  forms: VersionedList,
  served: Served,
  formId: string | undefined,
  runQuery: RunQuery,
): Promise<CsvTable> {
  if (formId === undefined) return csvTable(served)
  const bytes = await weighDetail(forms, formId, runQuery)
  const form = await runQuery((signal) => readDetail(forms, formId, signal), bytes)
  return csvTable(served, form === undefined ? [] : answerCodes(form))
}

/** The header is sent with the first rows, so that a failure before these still gets an error status. */
export async function* csvLines(readTable: () => Promise<CsvTable>, rows: AsyncIterable<readonly Buffer[]>) {
  const table = await readTable()
  let unsentHeader = table.header
  for await (const part of rows) {
    yield Buffer.from(unsentHeader + part.map((row) => table.row(row)).join(''))
    unsentHeader = ''
  }
  if (unsentHeader !== '') yield Buffer.from(unsentHeader)
}
