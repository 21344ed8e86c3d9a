import { constants } from 'node:zlib'
import compress from 'koa-compress'
import type { RouteMiddleware } from './context.ts'

/** Below it, headers and a packet cost more than is saved. */
const minCompressedBytes = 1_024

/** For answers whose length is not known yet: every part is flushed, so that its rows are not kept back until the next ones come. */
const ofStreams =
  <Options>(options: Options) =>
  (_type: string, bytes: number | undefined): Options | Record<string, never> =>
    bytes === undefined ? options : {}

/** Compresses answers as a client accepts it, and says so of HEAD too, which the compressor itself passes over. */
export function compression(): RouteMiddleware {
  const compressed = compress({
    threshold: minCompressedBytes,
    zstd: ofStreams({ flush: constants.ZSTD_e_flush }),
    br: ofStreams({ flush: constants.BROTLI_OPERATION_FLUSH }),
    gzip: ofStreams({ flush: constants.Z_SYNC_FLUSH }),
    deflate: ofStreams({ flush: constants.Z_SYNC_FLUSH }),
  })
  return (ctx, next) => {
    const request = Object.create(ctx.request, { method: { value: 'GET' } })
    // The compressor fails where nothing is accepted, not even the answer as it is; `true` stands for any type, NDJSON too.
    const compress = ctx.acceptsEncodings('zstd', 'br', 'gzip', 'deflate', 'identity') !== false
    return compressed(Object.create(ctx, { request: { value: request }, compress: { value: compress } }), next)
  }
}
