import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { configurationPage } from './configuration.ts'
import { recordSchemas } from './recordSchemas.ts'
import { scalePage } from './scalePage.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** The pages of which a part is written here. */
const pages = { 'docs/configuration.md': configurationPage, 'docs/scale.md': scalePage }

export const command = new Command().action(async () => {
  await mkdir(join(root, 'schemas'), { recursive: true })
  const schemas = Object.entries(recordSchemas).map(
    ([name, schema]) => [`schemas/${name}.json`, `${JSON.stringify(schema, null, 2)}\n`] as const,
  )
  const written = Object.entries(pages).map(
    async ([path, write]) => [path, write(await readFile(join(root, path), 'utf8'))] as const,
  )
  for (const [path, text] of [...schemas, ...(await Promise.all(written))]) {
    await writeFile(join(root, path), text)
    process.stdout.write(`${path}\n`)
  }
})
