import { rename, rm, writeFile } from 'node:fs/promises'
import type { EngineUrls } from './external.ts'

/** The environment that leads other programs to the engines, one variable a line. */
export const renderEnginesFile = (urls: EngineUrls): string =>
  Object.entries(urls)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')

/** Writes the file whole or not at all; only its owner may read it, since a given URL may hold a password. */
export const writeEnginesFile = async (path: string, urls: EngineUrls): Promise<void> => {
  const draft = `${path}.${process.pid}`
  await writeFile(draft, renderEnginesFile(urls), { mode: 0o600 })
  await rename(draft, path)
}

export const removeEnginesFile = (path: string): Promise<void> => rm(path, { force: true })
