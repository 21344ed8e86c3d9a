/** `npm run schemas`: writes the JSON Schemas of the topics' values to `schemas`. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { recordSchemas } from './recordSchemas.ts'

const folder = fileURLToPath(new URL('../../schemas', import.meta.url))
await mkdir(folder, { recursive: true })
for (const [name, schema] of Object.entries(recordSchemas)) {
  await writeFile(join(folder, `${name}.json`), `${JSON.stringify(schema, null, 2)}\n`)
  process.stdout.write(`schemas/${name}.json\n`)
}
