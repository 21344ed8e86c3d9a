import { asset, assetCacheControl, read, readBaseCss, readIcon } from '../core/process/assets/assets.ts'
import { type StaticFile, staticFile } from '../core/process/staticFile.ts'
import type { AssetPaths } from './pages/layout.ts'

export type Assets = { readonly paths: AssetPaths; readonly files: ReadonlyMap<string, StaticFile> }

/** The files that every page uses. */
export function readAssets(): Assets {
  const own = (name: string): string => read(new URL(`assets/${name}`, import.meta.url))
  const style = asset('css', readBaseCss(), own('settings.css'))
  const script = asset('js', own('settings.js'))
  const icon = readIcon()
  const files = [style, script, icon].map(
    ({ path, type, text }) => [path, staticFile({ type, text, cacheControl: assetCacheControl })] as const,
  )
  return { paths: { style: style.path, script: script.path, icon: icon.path }, files: new Map(files) }
}
