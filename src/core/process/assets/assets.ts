import { readFileSync } from 'node:fs'
import { digestOf } from '../staticFile.ts'

/** A file that pages load. Its path holds a digest of its content, so that it may be cached for ever. */
export type Asset = { readonly path: string; readonly type: 'css' | 'js' | 'svg'; readonly text: string }

/** URL paths of the files that every page of an area loads. */
export type AssetPaths = { readonly style: string; readonly script: string; readonly icon: string }

/** For every asset: a changed file has another path. */
export const assetCacheControl = 'public, max-age=31536000, immutable'

/**
 * Reads what the pages of an area load: the style that all areas share followed by `<name>.css` of `folder`, `<name>.js`, and
 * the icon.
 */
export function readAssets(
  folder: URL,
  name: string,
): { readonly paths: AssetPaths; readonly files: readonly Asset[] } {
  const style = asset('css', `${read(new URL('base.css', import.meta.url))}\n${read(new URL(`${name}.css`, folder))}`)
  const script = asset('js', read(new URL(`${name}.js`, folder)))
  const icon = asset('svg', read(new URL('icon.svg', import.meta.url)))
  return {
    paths: { style: style.path, script: script.path, icon: icon.path },
    files: [style, script, icon],
  }
}

const asset = (type: Asset['type'], text: string): Asset => ({ path: `/assets/${digestOf(text)}.${type}`, type, text })

const read = (file: URL): string => readFileSync(file, 'utf8')
