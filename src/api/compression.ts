import { constants } from 'node:zlib'
import compress from 'koa-compress'
import type { RouteMiddleware } from './context.ts'

/** Compressing a smaller answer costs more than it saves. */
const minCompressedBytes = 1_024

/** Options for streams, whose length is unknown: every part is flushed, so that rows are not held until the next part. */
const streamsOnly =
  <Options>(options: Options) =>
  (_type: string, bytes: number | undefined): Options | Record<string, never> =>
    bytes === undefined ? options : {}

/** Negotiates the encoding of answers. HEAD gets the headers of GET; the compressor itself skips HEAD. */
export function compression(): RouteMiddleware {
  const compressed = compress({
    threshold: minCompressedBytes,
    zstd: streamsOnly({ flush: constants.ZSTD_e_flush }),
    br: streamsOnly({ flush: constants.BROTLI_OPERATION_FLUSH }),
    gzip: streamsOnly({ flush: constants.Z_SYNC_FLUSH }),
    deflate: streamsOnly({ flush: constants.Z_SYNC_FLUSH }),
  })
  return (ctx, next) => {
    const request = Object.create(ctx.request, { method: { value: 'GET' } })
    // The compressor throws if no encoding is accepted, not even identity. `true` compresses every media type, NDJSON included.
    const compress = ctx.acceptsEncodings('zstd', 'br', 'gzip', 'deflate', 'identity') !== false
    return compressed(Object.create(ctx, { request: { value: request }, compress: { value: compress } }), next)
  }
}
