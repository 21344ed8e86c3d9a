/** `npm run bench`: side-by-side figures on real engines of its own. */
import { fileURLToPath } from 'node:url'
import { Argument, Command } from 'commander'
import { watchParent } from '../engines/parent.ts'
import { benchApi } from './api.ts'
import { publish } from './results.ts'
import { onStage } from './stage.ts'

const benches = { api: benchApi }
type Name = keyof typeof benches

const pathTo = (place: string): string => fileURLToPath(new URL(place, import.meta.url))
const names = Object.keys(benches) as Name[]
const command = new Command('bench')
  .description('Measures side by side, on engines of its own, and writes tables and charts to bench/results.')
  .addArgument(new Argument('[names...]', 'what to measure').choices(names).default(names, 'everything'))

async function run(wanted: readonly Name[], stopped: AbortSignal): Promise<void> {
  for (const name of new Set(wanted)) {
    const results = await onStage(pathTo('../var/bench'), pathTo('../var/engines'), stopped, benches[name])
    await publish(name, results, pathTo('results'))
  }
}

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => stop.abort(new Error(`ended by ${signal}`)))
// Whoever read the output may be gone; that alone is no reason to stop.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
watchParent(() => stop.abort(new Error('ended with the process that started it')))

await run(command.parse().processedArgs[0] as Name[], stop.signal).catch((error: unknown) => {
  process.stderr.write(`bench: ${(error as Error).message}\n`)
  process.exitCode = 1
})
// What was under way when the bench was stopped is not waited for.
process.exit()
