import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { configurationPage } from './configuration.ts'
import { recordSchemas } from './recordSchemas.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = 'docs/configuration.md'

export const command = new Command().action(async () => {
  await mkdir(join(root, 'schemas'), { recursive: true })
  const schemas = Object.entries(recordSchemas).map(
    ([name, schema]) => [`schemas/${name}.json`, `${JSON.stringify(schema, null, 2)}\n`] as const,
  )
  const configuration = configurationPage(await readFile(join(root, page), 'utf8'))
  for (const [path, text] of [...schemas, [page, configuration] as const]) {
    await writeFile(join(root, path), text)
    process.stdout.write(`${path}\n`)
  }
})
