import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { gzipSync } from 'node:zlib'
import type { ParameterizedContext } from 'koa'
import type { AssetPaths } from './html.ts'

type Headers = Readonly<Record<string, string>>

/** A file in memory, answered with `respondWithFile`. */
export interface StaticFile {
  /** A file extension, from which Koa derives `Content-Type`. */
  readonly type: string
  readonly bytes: Buffer
  readonly gzipped: Buffer
  /** Weak, because it stands for both `bytes` and `gzipped`. */
  readonly etag: string
  readonly headers: Headers
}

export function staticFile(type: string, text: string, cacheControl: string, more: Headers = {}): StaticFile {
  const bytes = Buffer.from(text)
  const etag = `W/"${digestOf(text)}"`
  const headers = {
    ...more,
    ETag: etag,
    'Cache-Control': cacheControl,
    Vary: 'Accept-Encoding',
    'X-Content-Type-Options': 'nosniff',
  }
  return { type, bytes, gzipped: gzipSync(bytes), etag, headers }
}

const digestOf = (text: string): string => hash('sha256', text, 'base64url').slice(0, 16)

const oat = createRequire(import.meta.url).resolve('@knadh/oat/oat.min.css')

/** Oat (https://oat.ink), the shared base.css, then the `own` files. */
export const readStyle = (...own: URL[]): string => readText(oat, new URL('assets/base.css', import.meta.url), ...own)

export const readIcon = (): string => readText(new URL('assets/icon.svg', import.meta.url))

export const readText = (...files: readonly (string | URL)[]): string =>
  files.map((file) => readFileSync(file, 'utf8')).join('\n')

type PageAssets = {
  readonly paths: AssetPaths
  readonly files: ReadonlyMap<string, StaticFile>
}

/** Browsers may cache these for ever: a path contains the digest of its file. */
export function pageAssets(folder: string, styleText: string, scriptText: string): PageAssets {
  const files = new Map<string, StaticFile>()
  const add = (type: 'css' | 'js' | 'svg', text: string): string => {
    const path = `${folder}/${digestOf(text)}.${type}`
    files.set(path, staticFile(type, text, 'public, max-age=31536000, immutable'))
    return path
  }
  const paths = { style: add('css', styleText), script: add('js', scriptText), icon: add('svg', readIcon()) }
  return { paths, files }
}

/** By weak comparison; `*` names all. `no-cache` of a request is ignored: it addresses caches, and `fetch` sends it with every `If-None-Match`. */
export const namesEtag = (ifNoneMatch: string, etag: string): boolean =>
  ifNoneMatch.trim() === '*' || ifNoneMatch.includes(etag.replace(/^W\//, ''))

/** 304 if the client has the file, otherwise its bytes. */
export function respondWithFile(ctx: ParameterizedContext, file: StaticFile): void {
  ctx.set(file.headers)
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
