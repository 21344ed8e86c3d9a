import compress from 'koa-compress'
import type { ApiMiddleware } from './context.ts'

/** Below it, headers and a packet cost more than is saved. */
const minCompressedBytes = 1_024

/** Compresses answers as a client accepts it, and says so of HEAD too, which the compressor itself passes over. */
export function compression(): ApiMiddleware {
  const compressed = compress({ threshold: minCompressedBytes })
  return (ctx, next) => {
    if (ctx.method !== 'HEAD') return compressed(ctx, next)
    const request = Object.create(ctx.request, { method: { value: 'GET' } })
    return compressed(Object.create(ctx, { request: { value: request } }), next)
  }
}
