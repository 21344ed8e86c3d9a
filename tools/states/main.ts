/** `npm run states`: writes the tables of docs/generations.md. */
import { readFile, writeFile } from 'node:fs/promises'
import { withTables } from './statePage.ts'

const page = 'docs/generations.md'
await writeFile(page, withTables(await readFile(page, 'utf8')))
process.stdout.write(`${page}\n`)
