import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { digestOf } from '../staticFile.ts'

/** A file that pages load. Its path contains a hash of its content, so that browsers may cache it for ever. */
export type Asset = { readonly path: string; readonly type: 'css' | 'js' | 'svg'; readonly text: string }

/** The `Cache-Control` of an asset. */
export const assetCacheControl = 'public, max-age=31536000, immutable'

/** The style that all HTML pages share: colours, type, the bar on top. It goes before a page's own style. */
export const readBaseCss = (): string => read(new URL('base.css', import.meta.url))

export const readIcon = (): Asset => asset('svg', read(new URL('icon.svg', import.meta.url)))

/** An asset with the texts of several files, concatenated. */
export const asset = (type: Asset['type'], ...texts: readonly string[]): Asset => {
  const text = texts.join('\n')
  return { path: `/assets/${digestOf(text)}.${type}`, type, text }
}

export const read = (file: URL): string => readFileSync(fileURLToPath(file), 'utf8')
