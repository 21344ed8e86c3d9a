import { mkdtempSync, rmSync } from 'node:fs'
import { chmod, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * A new folder for engines. Every user may enter it: where this runs as root, Elasticsearch runs as another user, and would
 * keep its data in a folder of its own, which would stay behind.
 */
export async function temporaryFolder(prefix: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), prefix))
  await chmod(folder, 0o755)
  return folder
}

/** A new folder for the tests of a file or block, which is deleted after them. */
export function useFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-test-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
