import { Readable } from 'node:stream'
import { cutOff } from '../core/process/resettingServer.ts'
import { overCapacity } from './admission.ts'
import type { RouteContext } from './context.ts'
import { Places } from './permits.ts'
import { RequestError } from './requestError.ts'
import type { Within } from './search/exportList.ts'
import { whenClosed } from './whenClosed.ts'

/** One JSON value a line. */
export const ndjson = 'application/x-ndjson'

/** Whether a request asks for a whole list instead of a page of it. */
export const asksForExport = (ctx: RouteContext): boolean => ctx.accepts('application/json', ndjson) === ndjson

type Parts = AsyncGenerator<readonly Buffer[], void, undefined>

/** Starts an export; resolves once its first part is there: a failure until then is an answer like any other. */
export type StartExport = (ctx: RouteContext, open: (within: Within) => Parts) => Promise<Readable>

/** Exports of one process: of a team, and in all. */
const atOnce = { total: 32, perTenant: 4 }
const retryAfterSeconds = 5

/** One that fails on its way is cut off: whoever sees a connection break does not take a part for the whole. */
export function createExports(): StartExport {
  const places = new Places(atOnce)
  return async (ctx, open) => {
    const leave = places.enter(ctx.state.holder.teamId)
    if (leave === 'none of party') throw new RequestError({ kind: 'rate_limited', what: 'exports', retryAfterSeconds })
    if (leave === 'none in all') throw overCapacity('too many exports are running')
    const parts = open(ctx.state.runQuery)
    const first = await parts.next().catch((error: unknown) => {
      leave()
      throw error
    })
    const stream = Readable.from(lines(first, parts), { objectMode: false })
    stream.once('close', () => {
      leave()
      parts.return().catch(() => undefined)
    })
    stream.once('error', (error) => {
      ctx.app.emit('error', error, ctx)
      cutOff(ctx.res)
    })
    whenClosed(ctx.res, () => stream.destroy())
    // nginx would hold parts back until its buffers are full.
    ctx.set('X-Accel-Buffering', 'no')
    // Node keeps the answer to HEAD to itself, and would never read the rest.
    if (ctx.method === 'HEAD') stream.destroy()
    return stream
  }
}

const lineEnd = Buffer.from('\n')

async function* lines(first: IteratorResult<readonly Buffer[], void>, parts: Parts): AsyncGenerator<Buffer> {
  for (let part = first; !part.done; part = await parts.next())
    yield Buffer.concat(part.value.flatMap((row) => [row, lineEnd]))
}
