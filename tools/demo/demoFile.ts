import { readFile, rm } from 'node:fs/promises'
import type { EngineUrls } from '../engines/engines.ts'
import { writePrivateJson } from './privateJson.ts'
import type { Counts } from './world.ts'

/** What `npm run sign-in` makes links to the settings area with. */
export type SignInFile = { readonly settingsUrl: string; readonly signInSecret: string }

/** What other programs may know of a running demo. */
export type DemoFile = SignInFile &
  Counts & {
    readonly baseUrl: string
    readonly keys: readonly { readonly team: string; readonly key: string }[]
    readonly engines: EngineUrls
  }

/** Only its owner may read the file, since it holds secrets. */
export const writeDemoFile = (path: string, content: DemoFile | SignInFile): Promise<void> =>
  writePrivateJson(path, content)

/** What signs in to the settings area that runs now; rejects when none does. */
export const readSignInFile = async (path: string): Promise<SignInFile> =>
  JSON.parse(await readFile(path, 'utf8')) as SignInFile

export const removeDemoFile = (path: string): Promise<void> => rm(path, { force: true })
