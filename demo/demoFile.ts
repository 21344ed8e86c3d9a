import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import type { EngineUrls } from '../engines/engines.ts'
import type { Counts } from './world.ts'

/** What other programs may know of a running demo. */
export type DemoFile = Counts & {
  readonly baseUrl: string
  readonly keys: readonly { readonly team: string; readonly key: string }[]
  readonly settingsUrl: string
  /** Signs in to the settings area: `npm run sign-in` makes links with it. */
  readonly signInSecret: string
  readonly engines: EngineUrls
}

/** Writes the file whole or not at all; only its owner may read it, since it holds keys. */
export async function writeDemoFile(path: string, content: DemoFile): Promise<void> {
  const draft = `${path}.${process.pid}`
  await writeFile(draft, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
  await rename(draft, path)
}

/** What the demo wrote that runs now; rejects when none does. */
export const readDemoFile = async (path: string): Promise<DemoFile> =>
  JSON.parse(await readFile(path, 'utf8')) as DemoFile

export const removeDemoFile = (path: string): Promise<void> => rm(path, { force: true })
