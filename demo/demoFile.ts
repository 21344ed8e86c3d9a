import { rename, rm, writeFile } from 'node:fs/promises'
import type { EngineUrls } from '../engines/engines.ts'
import type { Counts } from './world.ts'

/** What other programs may know of a running demo. */
export type DemoFile = Counts & {
  readonly baseUrl: string
  readonly keys: readonly { readonly team: string; readonly key: string }[]
  readonly settingsUrl: string | null
  readonly engines: EngineUrls
}

/** Writes the file whole or not at all; only its owner may read it, since it holds keys. */
export async function writeDemoFile(path: string, content: DemoFile): Promise<void> {
  const draft = `${path}.${process.pid}`
  await writeFile(draft, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
  await rename(draft, path)
}

export const removeDemoFile = (path: string): Promise<void> => rm(path, { force: true })
