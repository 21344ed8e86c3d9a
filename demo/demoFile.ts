import { readFile, rm } from 'node:fs/promises'
import type { EngineUrls } from '../engines/engines.ts'
import { writePrivateJson } from './privateJson.ts'
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

/** Only its owner may read the file, since it holds keys. */
export const writeDemoFile = (path: string, content: DemoFile): Promise<void> => writePrivateJson(path, content)

/** What the demo wrote that runs now; rejects when none does. */
export const readDemoFile = async (path: string): Promise<DemoFile> =>
  JSON.parse(await readFile(path, 'utf8')) as DemoFile

export const removeDemoFile = (path: string): Promise<void> => rm(path, { force: true })
