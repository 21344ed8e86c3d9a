import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { brotliCompress, constants, deflate, gzip, zstdCompress } from 'node:zlib'
import compress from 'koa-compress'
import Negotiator from 'negotiator'
import type { RouteContext, RouteMiddleware } from './context.ts'

/** Compressing a smaller answer costs more than it saves. */
const minCompressedBytes = 1_024

/** The encodings that the API can send, the preferred ones first. */
const encodings = ['zstd', 'br', 'gzip', 'deflate', 'identity'] as const
type Encoding = (typeof encodings)[number]
export type Compression = Exclude<Encoding, 'identity'>

/** The quality at which koa-compress compresses streams, too. The default of Brotli takes fifty times as long. */
const brotliQuality = 4
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } }
/** Streams look back 256 KiB: dozens of exports at once would take hundreds of megabytes with the default windows. */
const windowBits = 18

const compressors: Readonly<Record<Compression, (body: Buffer) => Promise<Buffer>>> = {
  zstd: promisify<Buffer, Buffer>(zstdCompress),
  br: (body) => promisify<Buffer, typeof brotliOptions, Buffer>(brotliCompress)(body, brotliOptions),
  gzip: promisify<Buffer, Buffer>(gzip),
  deflate: promisify<Buffer, Buffer>(deflate),
}

/** Compresses a whole answer. */
export const compressed = (body: Buffer, compression: Compression): Promise<Buffer> => compressors[compression](body)

/** Whether an answer is long enough to be compressed. */
export const isWorthCompressing = (body: Buffer): boolean => body.length >= minCompressedBytes

/** How a client wants its answer compressed; undefined for not at all, also when it accepts nothing that the API can send. */
export function compressionFor(ctx: RouteContext): Compression | undefined {
  const accepted = ctx.get('Accept-Encoding')
  if (accepted === '') return undefined
  // Who accepts everything most probably knows gzip.
  if (accepted === '*') return 'gzip'
  const request = { headers: { 'accept-encoding': accepted } }
  const encoding = new Negotiator(request).encoding(encodings, { preferred: encodings })
  return encoding === undefined || encoding === 'identity' ? undefined : encoding
}

/** Compresses streams as the client wants. Every part is flushed, so that rows are not held until the next part. */
export function compressStreams(): RouteMiddleware {
  const compressStream = compress({
    threshold: 0,
    zstd: { flush: constants.ZSTD_e_flush, params: { [constants.ZSTD_c_windowLog]: windowBits } },
    br: {
      flush: constants.BROTLI_OPERATION_FLUSH,
      params: { ...brotliOptions.params, [constants.BROTLI_PARAM_LGWIN]: windowBits },
    },
    gzip: { flush: constants.Z_SYNC_FLUSH },
    deflate: { flush: constants.Z_SYNC_FLUSH },
  })
  return async (ctx, next) => {
    await next()
    // The compressor throws if no encoding is accepted, not even identity, and skips HEAD, whose headers are those of GET.
    if (!(ctx.body instanceof Readable) || ctx.acceptsEncodings([...encodings]) === false) return
    const request = Object.create(ctx.request, { method: { value: 'GET' } })
    // `true` compresses every media type, NDJSON included.
    const overrides = { request: { value: request }, compress: { value: true } }
    await compressStream(Object.create(ctx, overrides), () => Promise.resolve())
  }
}
