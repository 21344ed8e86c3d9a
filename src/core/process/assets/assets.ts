import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { digestOf } from '../staticFile.ts'

/** A file that pages load; its path tells its content, so that it may be kept for ever. */
export type Asset = { readonly path: string; readonly type: 'css' | 'js' | 'svg'; readonly text: string }

/** How long whoever has an asset may keep it. */
export const assetCacheControl = 'public, max-age=31536000, immutable'

/** What all pages for people have in common: colours, type, the bar on top. It goes before a page's own style. */
export const readBaseCss = (): string => read(new URL('base.css', import.meta.url))

export const readIcon = (): Asset => asset('svg', read(new URL('icon.svg', import.meta.url)))

/** An asset of the text of several files, one after the other. */
export const asset = (type: Asset['type'], ...texts: readonly string[]): Asset => {
  const text = texts.join('\n')
  return { path: `/assets/${digestOf(text)}.${type}`, type, text }
}

export const read = (file: URL): string => readFileSync(fileURLToPath(file), 'utf8')
