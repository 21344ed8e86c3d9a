import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { ParameterizedContext } from 'koa'
import { namesEtag } from './ifNoneMatch.ts'

/** A public file in memory. */
export type StaticFile = {
  readonly type: string
  readonly bytes: Buffer
  /** Weak, because the compressed file has other bytes. */
  readonly etag: string
  readonly cacheControl: string
  readonly headers: Readonly<Record<string, string>>
  /** The compressed bytes, made at the first call. */
  gzipped(): Promise<Buffer>
}

const compress = promisify(gzip)

export function staticFile({
  type,
  text,
  cacheControl,
  headers = {},
}: Pick<StaticFile, 'type' | 'cacheControl'> & {
  readonly text: string
  readonly headers?: StaticFile['headers']
}): StaticFile {
  const bytes = Buffer.from(text)
  let gzipped: Promise<Buffer> | undefined
  return {
    type,
    bytes,
    cacheControl,
    headers: { ...headers, 'X-Content-Type-Options': 'nosniff' },
    etag: `W/"${digestOf(text)}"`,
    gzipped: () => {
      gzipped ??= compress(bytes)
      return gzipped
    },
  }
}

/** A short hash of content, for ETags and paths. */
export const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 16)

type AnswerContext = Pick<ParameterizedContext, 'get' | 'set' | 'status' | 'type' | 'body' | 'acceptsEncodings'>

/** Answers with a file, compressed if the client accepts gzip, or with 304 if it has the file. */
export async function respondWithFile(ctx: AnswerContext, file: StaticFile): Promise<void> {
  ctx.set({ ...file.headers, Vary: 'Accept-Encoding', ETag: file.etag, 'Cache-Control': file.cacheControl })
  if (namesEtag(ctx.get('If-None-Match'), file.etag)) {
    ctx.status = 304
    return
  }
  ctx.type = file.type
  if (ctx.acceptsEncodings('gzip', 'identity') === 'gzip') {
    ctx.set('Content-Encoding', 'gzip')
    ctx.body = await file.gzipped()
  } else ctx.body = file.bytes
}
