import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startSupervised } from '../../../tools/engines/supervisedProgram.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryFolder } from '../../support/temporaryFolder.ts'

/** Starts a third-party program in a temporary folder with one file, and waits until it answers. */
export async function startOwnProgram(
  command: string,
  args: readonly string[],
  file: { readonly name: string; readonly content: string },
  url: string,
): Promise<{ read(name: string): Promise<string>; reload(content: string): Promise<void>; close(): Promise<void> }> {
  const folder = await temporaryFolder('tidemark-program-')
  await writeFile(join(folder, file.name), file.content)
  const logPath = join(folder, 'said.log')
  const order = { command, args: [...args], cwd: folder, env: { PATH: process.env['PATH'] ?? '' } }
  const program = await startSupervised(order, { logPath }, new AbortController().signal)
  await eventually(async () => {
    if (program.hasEnded()) throw new Error(`${command} has ended; it said:\n${await readFile(logPath, 'utf8')}`)
    return await fetch(url).then(
      ({ status }) => status !== 503,
      () => false,
    )
  })
  return {
    /** A file of its folder. */
    read: (name) => readFile(join(folder, name), 'utf8'),
    /** Replaces the file, and tells the program by SIGHUP. */
    reload: async (content) => {
      await writeFile(join(folder, file.name), content)
      process.kill(program.pid, 'SIGHUP')
    },
    close: async () => {
      await program.stop()
      await rm(folder, { recursive: true })
    },
  }
}
