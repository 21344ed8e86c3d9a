import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { configurationPage } from './configuration.ts'
import { recordSchemas } from './recordSchemas.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const files = {
  ...Object.fromEntries(
    Object.entries(recordSchemas).map(([name, schema]) => [
      `schemas/${name}.json`,
      `${JSON.stringify(schema, null, 2)}\n`,
    ]),
  ),
  'docs/configuration.md': configurationPage(),
}

export const command = new Command().action(async () => {
  await mkdir(join(root, 'schemas'), { recursive: true })
  for (const [path, text] of Object.entries(files)) {
    await writeFile(join(root, path), text)
    process.stdout.write(`${path}\n`)
  }
})
