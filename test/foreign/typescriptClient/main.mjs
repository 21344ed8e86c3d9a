import process from 'node:process'
import { run } from './program.ts'

const [baseUrl, accountKey] = process.argv.slice(2)
await run({ baseUrl, accountKey }, (what, value) => process.stdout.write(`${JSON.stringify({ what, value })}\n`))
