import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { chmod, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * A new folder for engines, accessible to every user: where tests run as root, Elasticsearch runs as another user, and would
 * otherwise keep its data in another folder, which would never be deleted.
 */
export async function temporaryFolder(prefix: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), prefix))
  await chmod(folder, 0o755)
  return folder
}

/** A new folder for the tests of a file or block, which is deleted after them, or emptied after each one. */
export function useFolder({ forEachTest = false } = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-test-'))
  chmodSync(folder, 0o755)
  const empty = (): void => {
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true })
  }
  if (forEachTest) afterEach(empty)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
