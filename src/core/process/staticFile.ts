import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { ParameterizedContext } from 'koa'
import { namesEtag } from './ifNoneMatch.ts'

/** Bytes that everybody may read. */
export type StaticFile = {
  readonly type: string
  readonly bytes: Buffer
  /** Weak, because the same file has other bytes when it is compressed. */
  readonly etag: string
  readonly cacheControl: string
  readonly headers: Readonly<Record<string, string>>
  /** The bytes compressed; once, when first asked for. */
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

/** Names content: other content has another one. */
export const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 16)

type AnswerContext = Pick<ParameterizedContext, 'get' | 'set' | 'status' | 'type' | 'body' | 'acceptsEncodings'>

/** Answers with a file, compressed for those who take it so; who has it already is told that alone. */
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
