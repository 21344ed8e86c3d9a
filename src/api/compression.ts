import { pipeline, type Readable, type Transform } from 'node:stream'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import Negotiator from 'negotiator'
import type { RouteContext } from './context.ts'

/** Compressing a smaller answer costs more than it saves. */
const minCompressedBytes = 1_024

const { constants } = zlib

/** In this server's order of preference. */
const encodings = ['zstd', 'br', 'gzip', 'deflate', 'identity'] as const
export type Compression = Exclude<(typeof encodings)[number], 'identity'>

/** Brotli's default quality, 11, takes fifty times as long. */
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }
/** 256 KiB. With default windows, dozens of exports would use hundreds of megabytes. */
const windowBits = 18

type CompressWhole = (body: Buffer, done: (error: Error | null, compressed: Buffer) => void) => void

const compressor = (whole: CompressWhole, stream: () => Transform) => ({ whole: promisify(whole), stream })

const compressors = {
  zstd: compressor(zlib.zstdCompress, () =>
    zlib.createZstdCompress({ flush: constants.ZSTD_e_flush, params: { [constants.ZSTD_c_windowLog]: windowBits } }),
  ),
  br: compressor(
    (body, done) => zlib.brotliCompress(body, brotliOptions, done),
    () =>
      zlib.createBrotliCompress({
        flush: constants.BROTLI_OPERATION_FLUSH,
        params: { ...brotliOptions.params, [constants.BROTLI_PARAM_LGWIN]: windowBits },
      }),
  ),
  gzip: compressor(zlib.gzip, () => zlib.createGzip({ flush: constants.Z_SYNC_FLUSH })),
  deflate: compressor(zlib.deflate, () => zlib.createDeflate({ flush: constants.Z_SYNC_FLUSH })),
} satisfies Readonly<Record<Compression, unknown>>

/** Resolves with the compression that was applied; undefined for a small body. */
export const compressed = async (body: Buffer, compression: Compression | undefined) =>
  compression === undefined || body.length < minCompressedBytes
    ? { body, compression: undefined }
    : { body: await compressors[compression].whole(body), compression }

/** Flushes after each part. An error of `body` destroys the returned stream, where Koa handles it. */
export const compressedStream = (body: Readable, compression: Compression): Readable =>
  pipeline(body, compressors[compression].stream(), () => undefined)

/** What the client prefers; of equals, the first in `encodings`. Undefined for `identity`, also if the client accepts no encoding of this server. */
export function compressionFor(ctx: RouteContext): Compression | undefined {
  const accepted = ctx.get('Accept-Encoding')
  if (accepted === '') return undefined
  // `*` alone names no encoding; gzip is the most widely supported.
  if (accepted === '*') return 'gzip'
  const request = { headers: { 'accept-encoding': accepted } }
  const encoding = new Negotiator(request).encoding(encodings, { preferred: encodings })
  return encoding === undefined || encoding === 'identity' ? undefined : encoding
}
