import { existsSync } from 'node:fs'
import { cp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** The path of Redis's append-only data: a file up to version 6, a folder since version 7. */
export function appendOnlyState(dataFolder: string): string {
  const folder = join(dataFolder, 'appendonlydir')
  return existsSync(folder) ? folder : join(dataFolder, 'appendonly.aof')
}

/** Replaces `to` by a copy of `from`. */
export async function copyState(from: string, to: string): Promise<void> {
  await rm(to, { recursive: true, force: true })
  await cp(from, to, { recursive: true })
}

/** The append-only data, as text. */
export async function readState(dataFolder: string): Promise<string> {
  const state = appendOnlyState(dataFolder)
  if (!(await stat(state)).isDirectory()) return await readFile(state, 'utf8')
  const files = await readdir(state)
  return (await Promise.all(files.map((file) => readFile(join(state, file), 'utf8')))).join('\n')
}
