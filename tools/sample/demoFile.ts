import { readFile } from 'node:fs/promises'
import type { EngineUrls } from '../engines/engines.ts'
import { writePrivate } from '../engines/permissions.ts'
import type { Counts } from './world.ts'

/** What `npm run sign-in` needs to make links to the settings area. */
type SignInFile = { readonly settingsUrl: string; readonly signInSecret: string }

/** `demo.json`, for other programs, as long as a demo runs. */
export type DemoFile = SignInFile &
  Counts & {
    readonly baseUrl: string
    readonly keys: readonly { readonly team: string; readonly key: string }[]
    readonly engines: EngineUrls
  }

export const writePrivateJson = (path: string, content: DemoFile | SignInFile | Record<string, string>) =>
  writePrivate(path, `${JSON.stringify(content, null, 2)}\n`)

/** Rejects when no settings area runs. */
export const readSignInFile = async (path: string): Promise<SignInFile> =>
  JSON.parse(await readFile(path, 'utf8')) as SignInFile
