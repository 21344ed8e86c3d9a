import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { digestOf, type PublicFile, publicFile } from '../../src/publicFile.ts'
import type { AssetPaths } from './pages/layout.ts'

export type Assets = { readonly paths: AssetPaths; readonly files: ReadonlyMap<string, PublicFile> }

/** The files that every page uses. A file's name tells its content, so that it may be kept for ever. */
export function readAssets(): Assets {
  const files = new Map<string, PublicFile>()
  const add = (name: string, type: 'css' | 'js' | 'svg'): string => {
    const text = readFileSync(fileURLToPath(new URL(`assets/${name}.${type}`, import.meta.url)), 'utf8')
    const path = `/assets/${digestOf(text)}.${type}`
    files.set(path, publicFile({ type, text, cacheControl: 'public, max-age=31536000, immutable' }))
    return path
  }
  return { paths: { style: add('settings', 'css'), script: add('settings', 'js'), icon: add('icon', 'svg') }, files }
}
