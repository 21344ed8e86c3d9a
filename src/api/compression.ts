import { pipeline, Readable, type Transform } from 'node:stream'
import { promisify } from 'node:util'
import {
  brotliCompress,
  constants,
  createBrotliCompress,
  createDeflate,
  createGzip,
  createZstdCompress,
  deflate,
  gzip,
  zstdCompress,
} from 'node:zlib'
import Negotiator from 'negotiator'
import type { RouteContext, RouteMiddleware } from './context.ts'

/** Compressing a smaller answer costs more than it saves. */
const minCompressedBytes = 1_024

/** The encodings that the API can send, the preferred ones first. */
const encodings = ['zstd', 'br', 'gzip', 'deflate', 'identity'] as const
type Encoding = (typeof encodings)[number]
export type Compression = Exclude<Encoding, 'identity'>

/** The default quality of Brotli takes fifty times as long. */
const brotliParams = { [constants.BROTLI_PARAM_QUALITY]: 4 }
const brotliOptions = { params: brotliParams }
/** Streams look back 256 KiB: dozens of exports at once would take hundreds of megabytes with the default windows. */
const windowBits = 18
const zstdStream = { flush: constants.ZSTD_e_flush, params: { [constants.ZSTD_c_windowLog]: windowBits } }
const brotliStream = {
  flush: constants.BROTLI_OPERATION_FLUSH,
  params: { ...brotliParams, [constants.BROTLI_PARAM_LGWIN]: windowBits },
}
const deflateStream = { flush: constants.Z_SYNC_FLUSH }

/** How a whole answer is compressed, and how a stream. A stream flushes every part, so that rows are not held until the next one. */
type Compressor = { whole(body: Buffer): Promise<Buffer>; createStream(): Transform }

const compressors: Readonly<Record<Compression, Compressor>> = {
  zstd: { whole: promisify<Buffer, Buffer>(zstdCompress), createStream: () => createZstdCompress(zstdStream) },
  br: {
    whole: (body) => promisify<Buffer, typeof brotliOptions, Buffer>(brotliCompress)(body, brotliOptions),
    createStream: () => createBrotliCompress(brotliStream),
  },
  gzip: { whole: promisify<Buffer, Buffer>(gzip), createStream: () => createGzip(deflateStream) },
  deflate: { whole: promisify<Buffer, Buffer>(deflate), createStream: () => createDeflate(deflateStream) },
}

/** Compresses a whole answer. */
export const compressed = (body: Buffer, compression: Compression): Promise<Buffer> =>
  compressors[compression].whole(body)

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

/** Compresses streams as the client wants. */
export const compressStreams: RouteMiddleware = async (ctx, next) => {
  await next()
  const compression = ctx.body instanceof Readable ? compressionFor(ctx) : undefined
  if (compression === undefined) return
  ctx.set('Content-Encoding', compression)
  // The headers of an answer to HEAD are those of GET; its stream is closed already.
  if (ctx.method === 'HEAD') return
  // What fails destroys the compressor, which Koa then reports as the failed answer.
  ctx.body = pipeline(ctx.body as Readable, compressors[compression].createStream(), () => undefined)
}
