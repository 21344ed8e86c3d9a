import process from 'node:process'
// biome-ignore lint/correctness/useImportExtensions: it is compiled before
import { run } from './program.js'

const [baseUrl, accountKey] = process.argv.slice(2)
await run({ baseUrl, accountKey }, (what, value) => process.stdout.write(`${JSON.stringify([what, value])}\n`))
