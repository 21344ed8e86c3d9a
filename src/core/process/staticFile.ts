import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { ParameterizedContext } from 'koa'

/** A public file in memory. */
export type StaticFile = {
  readonly type: string
  readonly bytes: Buffer
  /** Weak, because the compressed file has other bytes. */
  readonly etag: string
  readonly cacheControl: string
  readonly headers: Readonly<Record<string, string>>
  readonly gzipped: Buffer
}

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
  return {
    type,
    bytes,
    cacheControl,
    headers: { ...headers, 'X-Content-Type-Options': 'nosniff' },
    etag: `W/"${digestOf(text)}"`,
    gzipped: gzipSync(bytes),
  }
}

/** A short hash of content, for ETags and paths. */
const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 16)

/** A file that pages load, under a path with a digest of its content: it may be cached for ever, because a changed file has another path. */
export function hashedFile(
  folder: string,
  type: 'css' | 'js' | 'svg',
  text: string,
): { readonly path: string; readonly file: StaticFile } {
  const cacheControl = 'public, max-age=31536000, immutable'
  return { path: `${folder}/${digestOf(text)}.${type}`, file: staticFile({ type, text, cacheControl }) }
}

/** URL paths of the files that every page of an area loads. */
export type AssetPaths = { readonly style: string; readonly script: string; readonly icon: string }

/**
 * Reads what the pages of an area load: the style that all areas share followed by `<name>.css` of `folder`, `<name>.js`, and
 * the icon.
 */
export function readAssets(
  folder: URL,
  name: string,
): { readonly paths: AssetPaths; readonly files: ReadonlyMap<string, StaticFile> } {
  const read = (file: string, from: string | URL = folder): string => readFileSync(new URL(file, from), 'utf8')
  const own = import.meta.url
  const style = hashedFile('/assets', 'css', `${read('assets/base.css', own)}\n${read(`${name}.css`)}`)
  const script = hashedFile('/assets', 'js', read(`${name}.js`))
  const icon = hashedFile('/assets', 'svg', read('assets/icon.svg', own))
  return {
    paths: { style: style.path, script: script.path, icon: icon.path },
    files: new Map([style, script, icon].map(({ path, file }) => [path, file])),
  }
}

/**
 * Whether `If-None-Match` matches `etag` by weak comparison; `*` matches all. `Cache-Control: no-cache` in the request changes
 * nothing: every `fetch` with `If-None-Match` adds it, and it is meant for caches on the way.
 */
export const namesEtag = (ifNoneMatch: string, etag: string): boolean =>
  ifNoneMatch.trim() === '*' || ifNoneMatch.includes(etag.replace(/^W\//, ''))

type AnswerContext = Pick<ParameterizedContext, 'get' | 'set' | 'status' | 'type' | 'body' | 'acceptsEncodings'>

/** Answers with a file, compressed if the client accepts gzip, or with 304 if it has the file. */
export function respondWithFile(ctx: AnswerContext, file: StaticFile): void {
  ctx.set({ ...file.headers, Vary: 'Accept-Encoding', ETag: file.etag, 'Cache-Control': file.cacheControl })
  if (namesEtag(ctx.get('If-None-Match'), file.etag)) {
    ctx.status = 304
    return
  }
  ctx.type = file.type
  if (ctx.acceptsEncodings('gzip', 'identity') === 'gzip') {
    ctx.set('Content-Encoding', 'gzip')
    ctx.body = file.gzipped
  } else ctx.body = file.bytes
}
