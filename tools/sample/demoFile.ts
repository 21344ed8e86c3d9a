import { rename, writeFile } from 'node:fs/promises'
import type { EngineUrls } from '../engines/engines.ts'
import type { Counts } from './world.ts'

/** With these, `npm run sign-in` makes links to the settings area. */
export type SignInFile = { readonly settingsUrl: string; readonly signInSecret: string }

/** `demo.json`, which exists while a demo runs. */
export type DemoFile = SignInFile &
  Counts & {
    readonly baseUrl: string
    readonly keys: readonly { readonly team: string; readonly key: string }[]
    readonly engines: EngineUrls
  }

/** Replaces the file atomically. Only its owner may read it. */
export async function writePrivateJson(path: string, content: DemoFile | SignInFile | Record<string, string>) {
  const draft = `${path}.${process.pid}`
  await writeFile(draft, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
  await rename(draft, path)
}
