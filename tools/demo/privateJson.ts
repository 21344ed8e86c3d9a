import { rename, writeFile } from 'node:fs/promises'

/** Writes the file whole or not at all; only its owner may read it. */
export async function writePrivateJson(path: string, content: unknown): Promise<void> {
  const draft = `${path}.${process.pid}`
  await writeFile(draft, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
  await rename(draft, path)
}
